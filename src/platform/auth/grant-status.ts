/** `invalid` means that the user has to authenticate again. */
export const GRANT_STATUSES = ['valid', 'invalid'] as const;
export type GrantStatus = (typeof GRANT_STATUSES)[number];

/** `running` is the healthy state. */
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

/**
 * A cancelled account keeps its data. Requests with its tokens get 403 until the account is
 * reactivated.
 */
export const BILLING_STATES = ['paid', 'cancelled'] as const;
export type BillingState = (typeof BILLING_STATES)[number];
