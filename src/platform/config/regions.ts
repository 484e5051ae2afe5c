/** Regions of the address of integrations and grants. */
export const REGIONS = ['us', 'eu'] as const;
export type Region = (typeof REGIONS)[number];
