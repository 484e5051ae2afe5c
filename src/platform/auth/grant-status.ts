/** `invalid`: the user has to authenticate again (api facts 2). */
export const GRANT_STATUSES = ['valid', 'invalid'] as const;
export type GrantStatus = (typeof GRANT_STATUSES)[number];

/** `running` is healthy (api facts 4). */
export const SYNC_STATES = [
  'initializing',
  'downloading',
  'running',
  'partial',
  'invalid',
  'stopped',
  'sync-error',
] as const;
export type SyncState = (typeof SYNC_STATES)[number];

export const ORGANIZATION_UNITS = ['folder', 'label'] as const;
export type OrganizationUnit = (typeof ORGANIZATION_UNITS)[number];

/** A cancelled account keeps its data; its tokens are refused with 403 until it is upgraded again. */
export const BILLING_STATES = ['paid', 'cancelled'] as const;
export type BillingState = (typeof BILLING_STATES)[number];
