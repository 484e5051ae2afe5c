import type { AcceptedMessage } from './smtp-sink-protocol.ts';
import { addFaultFigures, type FaultFigures } from './fault-table.ts';
import type { FaultWorld } from './fault-world.ts';

/** A message as the program has committed itself to it. */
interface Promised {
  id: string;
  messageId: string;
  recipients: string[];
  hasSentFolder: boolean;
  status: string;
  /** Attempts that were sent again although nobody could tell whether the one before had arrived. */
  resent: number;
  /** Seconds from its due time to the end of its job. */
  seconds: number;
}

const PROMISED = `
  select m.id, m.message_id_header as "messageId", m.envelope->'recipients' as recipients, s.status,
    m.account_id as "accountId",
    (select count(*) from job_attempt a where a.job_id = m.id and a.rule = 'resend')::int as resent,
    extract(epoch from s.updated_at - s.send_at)::float8 as seconds
  from outbox_message m join job_status s using (id)`;

/** What became of everything that was promised, counted in the record of the mail server. */
export interface Count {
  messages: number;
  accepted: number;
  /** Ids of jobs: promised, `successful` or not, and not at the mail server for one of the recipients. */
  lost: string[];
  /** Ids of jobs whose message a recipient has more than once, where the Sent folder tells. */
  doubled: string[];
  /** Ids of jobs that a recipient has more often than the timeline's repetitions explain, where nobody can tell. */
  doubledUnexplained: string[];
  /** Messages of the mail server that nobody has promised. */
  unknown: AcceptedMessage[];
  figures: Omit<FaultFigures, 'test' | 'faults'>;
}

/**
 * Counts. The program's tables say only what was promised; whether it arrived, and how often, says the mail server.
 * Messages that were cancelled are not counted as promised, and must not have arrived.
 */
export async function countOutcome(world: FaultWorld): Promise<Count> {
  const record = await world.sink.accepted();
  const arrivals = new Map<string, number>();
  /** The fewest recipients a message was accepted for at once. */
  const parts = new Map<string, number>();
  for (const { messageId, recipients } of record) {
    parts.set(messageId, Math.min(parts.get(messageId) ?? Infinity, recipients.length));
    for (const recipient of recipients) {
      const key = `${messageId} ${recipient}`;
      arrivals.set(key, (arrivals.get(key) ?? 0) + 1);
    }
  }
  const rows = await world.sql.query<Promised & { accountId: string }>(PROMISED);
  const withFolder = new Set(
    world.accounts.filter((account) => account.hasSentFolder).map(({ id }) => id),
  );
  const promised = rows.filter(({ status }) => status !== 'cancelled');
  const known = new Set(promised.map(({ messageId }) => messageId));
  const count: Count = {
    messages: promised.length,
    accepted: record.length,
    lost: [],
    doubled: [],
    doubledUnexplained: [],
    unknown: record.filter(({ messageId }) => !known.has(messageId)),
    figures: {
      messages: promised.length,
      accepted: record.length,
      lost: 0,
      doubled: 0,
      doubledDocumented: 0,
      resent: 0,
      longestSeconds: 0,
    },
  };
  for (const row of promised) {
    const times = row.recipients.map(
      (recipient) => arrivals.get(`${row.messageId} ${recipient.toLowerCase()}`) ?? 0,
    );
    const surplus = times.reduce((sum, n) => sum + Math.max(0, n - 1), 0);
    if (times.includes(0)) count.lost.push(row.id);
    count.figures.longestSeconds = Math.max(count.figures.longestSeconds, row.seconds);
    // Some have it, some have not: what is in the Sent folder says nothing about those who were tried later.
    const inParts = (parts.get(row.messageId) ?? row.recipients.length) < row.recipients.length;
    if (withFolder.has(row.accountId) && !inParts) {
      count.figures.doubled += surplus;
      if (surplus > 0) count.doubled.push(row.id);
    } else {
      count.figures.doubledDocumented += surplus;
      count.figures.resent += row.resent;
      if (Math.max(...times) - 1 > row.resent) count.doubledUnexplained.push(row.id);
    }
  }
  count.figures.lost = count.lost.length;
  count.figures.longestSeconds = Math.round(count.figures.longestSeconds * 10) / 10;
  return count;
}

/**
 * Counts, adds the row to the table of the run, and expects what is promised whatever breaks: nothing lost, nothing
 * doubled but where it is documented, no invariant broken at any moment.
 * @param accepted job ids that were answered with 202: they must have been stored
 */
export async function expectPromiseKept(
  world: FaultWorld,
  { test, faults, accepted }: { test: string; faults: string; accepted: readonly string[] },
): Promise<Count> {
  const violations = await world.invariants.end();
  const count = await countOutcome(world);
  addFaultFigures({ test, faults, ...count.figures });
  const stored = await world.sql.query<{ id: string }>(
    'select id from outbox_message where id = any($1::uuid[])',
    [accepted],
  );
  const { lost, doubled, doubledUnexplained, unknown } = count;
  expect({ violations, lost, doubled, doubledUnexplained, unknown, stored: stored.length }).toEqual(
    {
      violations: [],
      lost: [],
      doubled: [],
      doubledUnexplained: [],
      unknown: [],
      stored: new Set(accepted).size,
    },
  );
  expect(world.invariants.looks).toBeGreaterThan(0);
  return count;
}
