import { storable } from '../base/text/storable.ts';
import type { ClaimedJob, GateSignal } from './dispatcher.ts';
import type { Sql } from '../database/sql.ts';

/** Troubles in a row that close a gate. */
export const TROUBLES_UNTIL_CLOSED = 5;
/** How long it is closed then, doubled with each further trouble. */
const FIRST_CLOSING_SECONDS = 30;
const LONGEST_CLOSING_SECONDS = 15 * 60;
const MOST_CHARACTERS = 500;

/** A run that ended, as the breaker sees it. */
export interface GateReport {
  job: ClaimedJob;
  gate?: GateSignal;
}

/** What one gate is told by a batch. */
interface GateNews {
  well: boolean;
  /** The troubles that were counted when the run was claimed. */
  trouble: { seen: number; reason: string } | null;
  close: { seconds: number; reason: string } | null;
}

// A closing that was asked for and is still in force says more than one row that got through.
const WELL = `
  update account_gate set failures = 0,
    closed_until = case when failures >= ${TROUBLES_UNTIL_CLOSED} or closed_until <= now() then null else closed_until end,
    close_reason = case when failures >= ${TROUBLES_UNTIL_CLOSED} or closed_until <= now() then null else close_reason end
  where account_id in (
    select account_id from account_gate
    where account_id = any($1::uuid[]) and (failures > 0 or closed_until <= now())
    order by account_id for update)`;

// Rows that were in flight together are one trouble: it counts when nothing has been counted since the claim.
const ILL = `
  insert into account_gate as g (account_id, failures, closed_until, close_reason)
  select gate, case when seen is null then 0 else 1 end, now() + seconds * interval '1 s', close_reason
  from unnest($1::uuid[], $2::int[], $3::text[], $4::float8[], $5::text[]) x(gate, seen, reason, seconds, close_reason)
  order by gate
  on conflict (account_id) do update set (failures, closed_until, close_reason) = (
    select case when n.counts then least(g.failures + 1, 1000) else g.failures end,
      greatest(g.closed_until, now() + x.seconds * interval '1 s', case when n.counts and n.closes then now() + n.pause end),
      case when x.seconds is not null then x.close_reason
           when n.counts and n.closes then x.reason else g.close_reason end
    from unnest($1::uuid[], $2::int[], $3::text[], $4::float8[], $5::text[]) x(gate, seen, reason, seconds, close_reason),
      lateral (select
        coalesce(g.failures <= x.seen and not coalesce(g.closed_until > now(), false), false) as counts,
        g.failures + 1 >= ${TROUBLES_UNTIL_CLOSED} as closes,
        interval '1 s' * least(${LONGEST_CLOSING_SECONDS},
          ${FIRST_CLOSING_SECONDS} * power(2, least(g.failures + 1 - ${TROUBLES_UNTIL_CLOSED}, 10))) as pause) n
    where x.gate = g.account_id)`;

/**
 * The breaker's memory in one process: writes what runs say about their gates, in the transaction that settles them.
 * While all gates are well nothing is written.
 */
export class GateSignals {
  /** Gates that were told something bad by this process: their next `well` is written whatever its claim saw. */
  readonly #told = new Set<string>();

  /**
   * @param marked whether a claim saw its gate in trouble
   * @returns what is to be called after the commit
   * @throws when the gates cannot be written: then nothing of the transaction counts
   */
  async write(
    sql: Sql,
    reports: readonly GateReport[],
    marked: (job: ClaimedJob) => boolean,
  ): Promise<() => void> {
    const news = gather(reports, (job) => marked(job) || this.#told.has(job.gateId));
    const well = [...news].flatMap(([gate, { well: isWell }]) => (isWell ? [gate] : []));
    const ill = [...news].filter(([, { trouble, close }]) => trouble !== null || close !== null);
    if (well.length > 0) await sql.query(WELL, [well]);
    if (ill.length > 0) {
      await sql.query(ILL, [
        ill.map(([gate]) => gate),
        ill.map(([, { trouble }]) => trouble?.seen ?? null),
        ill.map(([, { trouble }]) => reasonOf(trouble)),
        ill.map(([, { close }]) => close?.seconds ?? null),
        ill.map(([, { close }]) => reasonOf(close)),
      ]);
    }
    for (const [gate] of ill) this.#told.add(gate);
    return () => {
      for (const gate of well) this.#told.delete(gate);
    };
  }
}

/** It goes into the reason of each message that waits. */
function reasonOf(told: { reason: string } | null): string | null {
  return told && storable(told.reason, MOST_CHARACTERS);
}

/** In one batch a gate that was reached is well, whatever others say; being asked to close it stands beside that. */
function gather(
  reports: readonly GateReport[],
  isTold: (job: ClaimedJob) => boolean,
): Map<string, GateNews> {
  const all = new Map<string, GateNews>();
  const reached = new Set<string>();
  for (const { job, gate: signal } of reports) {
    if (!signal) continue;
    if (signal.kind === 'well') {
      reached.add(job.gateId);
      if (!isTold(job)) continue;
    }
    const news = all.get(job.gateId) ?? { well: false, trouble: null, close: null };
    if (signal.kind === 'well') news.well = true;
    if (signal.kind === 'trouble')
      news.trouble = {
        seen: Math.max(news.trouble?.seen ?? 0, job.gateFailures),
        reason: signal.reason,
      };
    if (signal.kind === 'close' && signal.seconds >= (news.close?.seconds ?? 0))
      news.close = { seconds: signal.seconds, reason: signal.reason };
    all.set(job.gateId, news);
  }
  for (const gate of reached) {
    const news = all.get(gate);
    if (news) news.trouble = null;
  }
  return all;
}
