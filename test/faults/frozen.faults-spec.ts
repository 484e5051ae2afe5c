import { call, readJob } from '../support/fault-load.ts';
import { FaultWorld } from '../support/fault-world.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { until } from '../support/until.ts';
import type { FaultAccount } from '../support/worker-world.ts';

/** A message that the second server has not looked up yet. */
const WAITING = 0;
/** A message that was looked up without a result. */
const LOOKED_UP = 1;
/** A message that the second server has sent again. */
const RESENT = 2;

/** How long a server waits for the response to a message: shorter than it is frozen. */
const CONFIRMATION_MS = 6_000;

interface Line {
  attempt: number;
  outcome: string;
  rule: string | null;
  route: string | null;
  detail: string;
}

describe('a server that is frozen while the mail server confirms its messages', () => {
  let world: FaultWorld;
  const ids: string[] = [];

  beforeAll(async () => {
    world = await FaultWorld.start({ accounts: 3, withoutSentFolder: () => true });
  });
  afterAll(() => world.close(), 60_000);

  const account = (index: number) => world.accounts[index] as FaultAccount;

  const jobOf = async (server: ServerProcess, index: number) => {
    const { status, attempts } = await readJob<{ status: string; attempts: Line[] }>(
      server,
      account(index),
      ids[index] ?? '',
    );
    const lines = attempts.map(({ attempt, outcome, rule, route }) => [
      attempt,
      outcome,
      rule,
      route,
    ]);
    return { status, lines, attempts };
  };

  /** Lets the look-ups of one account happen now. */
  const hurry = (index: number) =>
    world.sql.query(
      'update send_job set run_at = now() where account_id = $1 and state = 0 and ambiguous',
      [account(index).id],
    );

  it('records their results when it continues, unless another server has sent them again', async () => {
    const environment = { SMTP_CONFIRMATION_MS: String(CONFIRMATION_MS) };
    const frozen = await world.startServer(environment);
    await world.sink.behave({ delayMs: [4_000, 4_000] });
    for (const index of [WAITING, LOOKED_UP, RESENT]) {
      const body = { to: [{ email: `to-${index}@sink.test` }], subject: 'Hi', body: 'Hello' };
      const answer = await call(frozen, account(index), 'POST', '/v2/outbox', { body });
      ids.push(String(answer?.body.job_status_id));
    }
    await until(
      'the mail server to accept all messages',
      async () => (await world.sink.counts()).accepted === 3,
    );
    frozen.pause();
    await world.sink.behave({});

    const steady = await world.startServer();
    await until(
      'the steady server to take over the messages',
      async () => (await world.count('select count(*) as n from send_job where ambiguous')) === 3,
      60_000,
    );
    await until('a look-up without a result', async () => {
      await hurry(LOOKED_UP);
      return (await jobOf(steady, LOOKED_UP)).lines.length > 0;
    });
    const lost = (await jobOf(steady, LOOKED_UP)).attempts[0];
    expect(lost).toMatchObject({ attempt: 1, outcome: 'unknown', rule: 'look-up' });
    expect(lost?.detail).toMatch(/was lost before it could record the result/);
    await until('a second copy', async () => {
      await hurry(RESENT);
      return (await jobOf(steady, RESENT)).status === 'successful';
    });
    expect(await jobOf(steady, WAITING)).toMatchObject({ status: 'pending', lines: [] });

    frozen.resume();
    const settled = await until('the results of the frozen server', async () => {
      const jobs = [await jobOf(steady, WAITING), await jobOf(steady, LOOKED_UP)];
      return jobs.every(({ status }) => status === 'successful') && jobs;
    });
    expect(settled[0]?.lines).toEqual([[1, 'sent', null, 'account']]);
    // The look-ups are numbered in the order in which they ran.
    const [first, ...lookUps] = settled[1]?.lines ?? [];
    expect(first).toEqual([1, 'sent', null, 'account']);
    expect(lookUps.length).toBeGreaterThan(0);
    for (const line of lookUps) expect(line.slice(1)).toEqual(['unknown', 'look-up', null]);
    expect(settled[0]?.attempts[0]?.detail).toContain('250');

    // Its two copies are in the timeline, and the second one was announced.
    const twice = await until('the first copy in the timeline', async () => {
      const job = await jobOf(steady, RESENT);
      return job.lines[0]?.[1] === 'sent' && job;
    });
    expect(twice.lines.filter(([, outcome]) => outcome === 'sent')).toHaveLength(2);
    expect(twice.lines.filter(([, , rule]) => rule === 'resend')).toHaveLength(1);
    const recipients = (await world.sink.accepted()).map((message) => message.recipients[0] ?? '');
    expect(recipients.toSorted((one, other) => one.localeCompare(other))).toEqual([
      'to-0@sink.test',
      'to-1@sink.test',
      'to-2@sink.test',
      'to-2@sink.test',
    ]);
    expect(await world.sql.query('select pid from lost_worker')).toEqual([{ pid: frozen.pid }]);
    await Promise.all([frozen.stop(), steady.stop()]);
  }, 240_000);
});
