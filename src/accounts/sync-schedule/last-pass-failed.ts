/**
 * SQL condition on a row of `sync_job`: its last sync pass failed, and the mailbox is in its
 * waiting time. The index `sync_job_failing` has these rows.
 * @param row name of the row in the statement
 */
export const lastPassFailed = (row: string): string =>
  `(${row}.failures > 0 and ${row}.well_since is null)`;
