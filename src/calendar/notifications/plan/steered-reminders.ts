import { idsOf, type Sql } from '../../../platform/database/sql.ts';
import {
  BEING_CHANGED,
  NOT_YET_DUE,
  ON_ITS_WAY,
  sortOut,
  type Steered,
  UNKNOWN_OUTCOME,
} from '../../../job-statuses/steered.ts';
import { wakeAfterCommit } from '../../../platform/work/signals.ts';
import { transitionReminders } from '../send/reminder-transitions.ts';
import { ROW_WAITING } from '../../../platform/work/queue/row-state.ts';
import type { Reminder } from '../reminder.entity.ts';
import type { RowOf, OrNull } from '../../../platform/database/rows/row-of.ts';
import type { ReminderJob } from '../reminder-job.entity.ts';

/*
 * What operators do with reminders. All functions run in the caller's transaction and take at most
 * some hundreds of ids.
 */

interface SeenReminder
  extends RowOf<Reminder, 'id' | 'status' | 'reason'>, OrNull<RowOf<ReminderJob, 'ambiguous'>> {
  expired: boolean;
  queued: boolean;
  locked: boolean;
  running: boolean | null;
  early: boolean | null;
}

const see = (lock: string): string => `
  with locked as materialized (
    select id, state, due_at, ambiguous from reminder_job where id = any($1::uuid[]) order by id ${lock})
  select r.id, r.status, r.reason, r.expires_at <= $2 as expired,
    exists (select from reminder_job q where q.id = r.id) as queued, j.id is not null as locked,
    j.state <> ${ROW_WAITING} as running, j.due_at > now() as early, j.ambiguous
  from reminder r left join locked j on j.id = r.id
  where r.id = any($1::uuid[])
  order by r.id`;
const SEE = see('');
const SEE_AND_LOCK = see('for update skip locked');

/** What an operator's action needs. */
export interface ReminderAction {
  at: Date;
  dryRun: boolean;
}

const seen = (sql: Sql, ids: readonly string[], { at, dryRun }: ReminderAction) =>
  sql.query<SeenReminder>(dryRun ? SEE : SEE_AND_LOCK, [ids, at]);

function notWaiting({ status, queued, locked, running, ambiguous }: SeenReminder): string | null {
  if (status !== 'scheduled') return `it has ended: ${status}`;
  if (!queued) return 'it has nothing left to send';
  if (!locked) return BEING_CHANGED;
  if (running) return ON_ITS_WAY;
  return ambiguous ? UNKNOWN_OUTCOME : null;
}

const HURRY = `update reminder_job set run_at = now() where id = any($1::uuid[]) and state = ${ROW_WAITING}`;

/** Makes reminders due now whose time has come. */
export async function retryReminders(
  sql: Sql,
  ids: readonly string[],
  action: ReminderAction,
): Promise<Steered> {
  const { free, skipped } = sortOut(
    await seen(sql, ids, action),
    (reminder) => notWaiting(reminder) ?? (reminder.early ? NOT_YET_DUE : null),
  );
  const changed = idsOf(free);
  if (action.dryRun || changed.length === 0) return { changed, skipped };
  await sql.query(HURRY, [changed]);
  wakeAfterCommit(sql, 'reminder');
  return { changed, skipped };
}

/**
 * Cancels reminders that wait. A later change of the event can schedule them again.
 * @param reason shown to users
 */
export async function cancelReminders(
  sql: Sql,
  ids: readonly string[],
  reason: string,
  action: ReminderAction,
): Promise<Steered> {
  const { free, skipped } = sortOut(await seen(sql, ids, action), notWaiting);
  const wanted = idsOf(free);
  if (action.dryRun || wanted.length === 0) return { changed: wanted, skipped };
  const moves = wanted.map((id) => ({ id, to: 'cancelled' as const, reason }));
  return made(wanted, skipped, await transitionReminders(sql, moves, action.at));
}

/**
 * Gives reminders in quarantine another chance, if their events have not begun. Reminders by email
 * or text are looked up before they are sent.
 */
export async function releaseReminders(
  sql: Sql,
  ids: readonly string[],
  action: ReminderAction,
): Promise<Steered> {
  const { free, skipped } = sortOut(await seen(sql, ids, action), (reminder) => {
    if (reminder.status !== 'failed' || !reminder.reason?.startsWith('quarantined:'))
      return `it is not in quarantine: ${reminder.status}`;
    return reminder.expired ? 'its event has begun' : null;
  });
  const wanted = idsOf(free);
  if (action.dryRun || wanted.length === 0) return { changed: wanted, skipped };
  const moves = wanted.map((id) => ({ id, to: 'scheduled' as const, reason: null }));
  return made(wanted, skipped, await transitionReminders(sql, moves, action.at));
}

function made(wanted: string[], skipped: Steered['skipped'], changed: string[]): Steered {
  const lost = wanted.filter((id) => !changed.includes(id));
  return { changed, skipped: [...skipped, ...lost.map((id) => ({ id, reason: BEING_CHANGED }))] };
}
