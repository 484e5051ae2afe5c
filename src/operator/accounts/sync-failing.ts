import { lastPassFailed } from '../../accounts/sync-schedule/last-pass-failed.ts';

/**
 * Accounts whose last sync pass failed, or whose mailbox cannot be read completely: a statement
 * with a column `account_id`. Overview, metrics and lists use this one definition.
 */
export const SYNC_FAILING = `
  select id as account_id from "grant" where sync_state = 'sync-error'
  union select j.account_id from sync_job j where ${lastPassFailed('j')}`;
