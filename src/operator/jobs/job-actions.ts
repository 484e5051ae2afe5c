import { retryWrites } from '../../accounts/provider-writes/hurried-writes.ts';
import { scheduleSync } from '../../accounts/sync-schedule/schedule-sync.ts';
import {
  cancelReminders,
  releaseReminders,
  retryReminders,
} from '../../calendar/notifications/plan/steered-reminders.ts';
import { settleSend, type Settlement } from '../../mail/outbox/steer/settled-sends.ts';
import { cancelSends, releaseSends, retrySends } from '../../mail/outbox/steer/steered-sends.ts';
import type { Sql } from '../../platform/database/sql.ts';
import type { Steered } from '../../job-statuses/steered.ts';
import type { JobActionName, JobKind } from './job-types.ts';

/** What an action needs beside the ids. */
export interface ActionTerms {
  /** Words of the operator, shown to users as part of a cancellation's reason. */
  reason: string | null;
  at: Date;
  dryRun: boolean;
}

type Act = (sql: Sql, ids: readonly string[], terms: ActionTerms) => Promise<Steered>;

/** An action that a kind of job does not have. */
const never =
  (reason: string): Act =>
  (_sql, ids) =>
    Promise.resolve({ changed: [], skipped: ids.map((id) => ({ id, reason })) });

const NO_QUARANTINE = 'only messages and reminders can be released from quarantine';

/** The functions of the modules that own the queues. Each locks the rows that it changes. */
const ACTS: Readonly<Record<JobKind, Readonly<Record<JobActionName, Act>>>> = {
  message: {
    retry: (sql, ids, { dryRun }) => retrySends(sql, ids, dryRun),
    cancel: (sql, ids, { reason, ...terms }) => cancelSends(sql, ids, { why: reason, ...terms }),
    release: releaseSends,
  },
  write: {
    retry: (sql, ids, { dryRun }) => retryWrites(sql, ids, dryRun),
    cancel: never(
      'a change on its way to a provider cannot be cancelled; its client changes the object back',
    ),
    release: never(`${NO_QUARANTINE}; a failed change was taken back`),
  },
  reminder: {
    retry: retryReminders,
    cancel: (sql, ids, terms) =>
      cancelReminders(
        sql,
        ids,
        `cancelled by an operator${terms.reason === null ? '' : `: ${terms.reason}`}`,
        terms,
      ),
    release: releaseReminders,
  },
  sync: {
    retry: async (sql, ids, { dryRun }) => {
      // The id of a sync job is the id of its account.
      for (const id of dryRun ? [] : ids.toSorted()) await scheduleSync(sql, id);
      return { changed: [...ids], skipped: [] };
    },
    cancel: never('the sync of an account ends when the account is cancelled or deleted'),
    release: never(NO_QUARANTINE),
  },
};

/** Does an action on jobs of one kind, in the caller's transaction. */
export function actOn(
  sql: Sql,
  kind: JobKind,
  action: JobActionName,
  ids: readonly string[],
  terms: ActionTerms,
): Promise<Steered> {
  return ACTS[kind][action](sql, ids, terms);
}

/** Decides whether the message of a job was sent, in the caller's transaction. */
export function settle(
  sql: Sql,
  kind: JobKind,
  id: string,
  settlement: Settlement,
): Promise<Steered> {
  if (kind === 'message') return settleSend(sql, id, settlement);
  const reason = 'only messages have outcomes that an operator can decide';
  return Promise.resolve({ changed: [], skipped: [{ id, reason }] });
}
