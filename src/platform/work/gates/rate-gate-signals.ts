import { storable } from '../../base/text/storable.ts';
import type { BreakerLimits, ClaimedRow, RateGateSignal } from '../queue/dispatcher.ts';
import type { Sql } from '../../database/sql.ts';

const MOST_CHARACTERS = 500;

/** What the circuit breaker reads of an ended run. */
export interface RateGateReport {
  row: ClaimedRow;
  gate?: RateGateSignal;
}

/** What one batch reports about one rate gate. */
interface GateUpdate {
  well: boolean;
  /** `seen`: the number of troubles when the run's row was claimed. */
  trouble: { seen: number; reason: string } | null;
  stop: { seconds: number; reason: string } | null;
}

// A pause that a server asked for (`stop`) lasts until its end, even if a row got through
// meanwhile.
const wellStatement = ({ troubles }: BreakerLimits): string => `
  update account_gate set failures = 0,
    closed_until = case when failures >= ${troubles} or closed_until <= now() then null else closed_until end,
    close_reason = case when failures >= ${troubles} or closed_until <= now() then null else close_reason end
  where account_id in (
    select account_id from account_gate
    where account_id = any($1::uuid[]) and (failures > 0 or closed_until <= now())
    order by account_id for update)`;

// Several rows in flight that fail together count as one trouble: a trouble counts only if no other
// trouble was counted since its row was claimed.
const illStatement = ({
  troubles,
  firstStopSeconds,
  longestStopSeconds,
}: BreakerLimits): string => `
  insert into account_gate as g (account_id, failures, closed_until, close_reason)
  select gate, case when seen is null then 0 else 1 end, now() + seconds * interval '1 s', close_reason
  from unnest($1::uuid[], $2::int[], $3::text[], $4::float8[], $5::text[]) x(gate, seen, reason, seconds, close_reason)
  order by gate
  on conflict (account_id) do update set (failures, closed_until, close_reason) = (
    select case when n.counts then least(g.failures + 1, 1000) else g.failures end,
      greatest(g.closed_until, now() + x.seconds * interval '1 s', case when n.counts and n.stops then now() + n.pause end),
      case when x.seconds is not null then x.close_reason
           when n.counts and n.stops then x.reason else g.close_reason end
    from unnest($1::uuid[], $2::int[], $3::text[], $4::float8[], $5::text[]) x(gate, seen, reason, seconds, close_reason),
      lateral (select
        coalesce(g.failures <= x.seen and not coalesce(g.closed_until > now(), false), false) as counts,
        g.failures + 1 >= ${troubles} as stops,
        interval '1 s' * least(${longestStopSeconds},
          ${firstStopSeconds} * power(2, least(g.failures + 1 - ${troubles}, 10))) as pause) n
    where x.gate = g.account_id)`;

/**
 * Writes what runs report about their rate gates, in the transaction that settles these runs. It
 * writes nothing while all gates are well.
 */
export class RateGateSignals {
  /**
   * Rate gates for which this process has written a trouble or a stop. Their next `well` is written
   * even if its claim saw no trouble.
   */
  readonly #troubled = new Set<string>();
  readonly #wellStatement: string;
  readonly #illStatement: string;

  constructor(limits: BreakerLimits) {
    this.#wellStatement = wellStatement(limits);
    this.#illStatement = illStatement(limits);
  }

  /**
   * Writes the reports of a batch.
   * @param marked whether a claim found its rate gate in trouble
   * @returns a function to call after the commit
   * @throws if the rate gates cannot be written; the transaction must then roll back
   */
  async write(
    sql: Sql,
    reports: readonly RateGateReport[],
    marked: (row: ClaimedRow) => boolean,
  ): Promise<() => void> {
    const news = gather(reports, (row) => marked(row) || this.#troubled.has(row.gateId));
    const well = [...news].flatMap(([gate, { well: isWell }]) => (isWell ? [gate] : []));
    const ill = [...news].filter(([, { trouble, stop }]) => trouble !== null || stop !== null);
    if (well.length > 0) await sql.query(this.#wellStatement, [well]);
    if (ill.length > 0) {
      await sql.query(this.#illStatement, [
        ill.map(([gate]) => gate),
        ill.map(([, { trouble }]) => trouble?.seen ?? null),
        ill.map(([, { trouble }]) => reasonOf(trouble)),
        ill.map(([, { stop }]) => stop?.seconds ?? null),
        ill.map(([, { stop }]) => reasonOf(stop)),
      ]);
    }
    for (const [gate] of ill) this.#troubled.add(gate);
    return () => {
      for (const gate of well) this.#troubled.delete(gate);
    };
  }
}

/** The reason of each waiting message includes this text, so its length is limited. */
function reasonOf(signal: { reason: string } | null): string | null {
  return signal && storable(signal.reason, MOST_CHARACTERS);
}

/**
 * Combines the reports of a batch by rate gate. If any run reached the account or webhook, the
 * troubles of the batch do not count. A stop that the server asked for still does.
 */
function gather(
  reports: readonly RateGateReport[],
  needsWrite: (row: ClaimedRow) => boolean,
): Map<string, GateUpdate> {
  const all = new Map<string, GateUpdate>();
  const reached = new Set<string>();
  for (const { row, gate: signal } of reports) {
    if (!signal) continue;
    if (signal.kind === 'well') {
      reached.add(row.gateId);
      if (!needsWrite(row)) continue;
    }
    const news = all.get(row.gateId) ?? { well: false, trouble: null, stop: null };
    if (signal.kind === 'well') news.well = true;
    if (signal.kind === 'trouble')
      news.trouble = {
        seen: Math.max(news.trouble?.seen ?? 0, row.gateFailures),
        reason: signal.reason,
      };
    if (signal.kind === 'stop' && signal.seconds >= (news.stop?.seconds ?? 0))
      news.stop = { seconds: signal.seconds, reason: signal.reason };
    all.set(row.gateId, news);
  }
  for (const gate of reached) {
    const news = all.get(gate);
    if (news) news.trouble = null;
  }
  return all;
}
