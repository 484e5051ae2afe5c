import type { AcceptedMessage } from './smtp-sink-protocol.ts';
import { addFaultFigures, type FaultFigures } from './fault-table.ts';
import type { WorkerWorld } from './worker-world.ts';

/** A message that the program has accepted, and so promised to send. */
interface Promised {
  id: string;
  messageId: string;
  recipients: string[];
  hasSentFolder: boolean;
  status: string;
  /**
   * Attempts that sent the message again although the outcome of the previous attempt was unknown.
   */
  resent: number;
  /** Seconds from the due time of the message to the end of its job. */
  seconds: number;
}

const PROMISED = `
  select m.id, m.message_id_header as "messageId", m.envelope->'recipients' as recipients, s.status,
    m.account_id as "accountId",
    (select count(*) from job_attempt a where a.job_id = m.id and a.rule = 'resend')::int as resent,
    extract(epoch from s.updated_at - s.send_at)::float8 as seconds
  from outbox_message m join job_status s using (id)`;

/** The result of all promised messages, counted in the mail server's record. */
export interface Count {
  messages: number;
  accepted: number;
  /**
   * Ids of jobs whose message the mail server lacks for at least one recipient, successful or not.
   */
  lost: string[];
  /**
   * Ids of jobs with a Sent folder to look in, and a recipient that has the message more than once.
   */
  doubled: string[];
  /**
   * Ids of jobs without a usable Sent folder, and a recipient that has more copies than the
   * repetitions in the timeline explain.
   */
  doubledUnexplained: string[];
  /** Messages at the mail server that the program never promised to send. */
  unknown: AcceptedMessage[];
  figures: Omit<FaultFigures, 'test' | 'faults'>;
}

/**
 * Compares what was promised with what arrived. The program's tables say only what was promised.
 * The mail server's record says what arrived, and how often. Cancelled messages do not count as
 * promised, and must not have arrived.
 */
export async function countOutcome(world: WorkerWorld): Promise<Count> {
  const record = await world.accepted();
  const arrivals = new Map<string, number>();
  /** By Message-ID, the smallest number of recipients in one accepted transaction. */
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
    // If the message was accepted for some recipients first, the copy in the Sent folder proves
    // nothing about the later ones.
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
 * Counts, adds a row to the table of the run, and expects what is promised under any fault. No
 * message is lost, messages are duplicated only where that is documented, and no invariant is ever
 * broken.
 * @param accepted ids of the jobs whose requests were answered with 202: all of them must be
 *   stored
 */
export async function expectPromiseKept(
  world: WorkerWorld,
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
  expect(world.invariants.checks).toBeGreaterThan(0);
  return count;
}
