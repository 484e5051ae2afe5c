import { expectPromiseKept } from '../support/fault-figures.ts';
import { call, postMessages, usualMessage } from '../support/fault-load.ts';
import { FaultWorld } from '../support/fault-world.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { SmtpCutter, SMTP_POINTS, type SmtpPoint } from '../support/smtp-cutter.ts';
import { sized } from '../support/sized.ts';
import { startSmtpSink } from '../support/smtp-sink.ts';
import { TcpProxy, type Verdict } from '../support/tcp-proxy.ts';
import type { FaultAccount } from '../support/worker-world.ts';

const MESSAGES = sized(200, 400);
const ACCOUNTS = 40;
/**
 * Timeout before the message content. It must be longer than any stall of the test machine, because
 * a slow start would count as the cut.
 */
const PATIENCE_MS = '6000';
const CONFIRMATION_MS = '1500';

/**
 * Two accounts, one of them without a Sent folder, behind a proxy that cuts the connection of their
 * first message.
 */
interface Case {
  point: SmtpPoint;
  verdict: Verdict;
  cutter: SmtpCutter;
  proxy: TcpProxy;
}

/**
 * From these points on, the server has the whole message and may have accepted it. Before them, the
 * client knows that it has not.
 */
const MAY_BE_ACCEPTED: readonly SmtpPoint[] = ['dot', 'dot answered'];
/**
 * At this point a long message is partly written. How much the client has written when it notices
 * the cut depends on timing.
 */
const EITHER: readonly SmtpPoint[] = ['content begun'];

describe('a mail server and a network that fail at every point of a message', () => {
  let world: FaultWorld;
  const servers: ServerProcess[] = [];
  const cases: Case[] = [];

  beforeAll(async () => {
    const sink = await startSmtpSink();
    for (const verdict of ['reset', 'swallow'] as const) {
      for (const point of SMTP_POINTS) {
        for (const _account of ['with a Sent folder', 'without one']) {
          const cutter = new SmtpCutter(point, verdict);
          cases.push({
            point,
            verdict,
            cutter,
            proxy: await TcpProxy.start(sink.port, cutter.judgeNext),
          });
        }
      }
    }
    world = await FaultWorld.start({
      sink,
      accounts: ACCOUNTS + cases.length,
      withoutSentFolder: (index) => index % 2 === 1,
      portOf: (index) => cases[index - ACCOUNTS]?.proxy.port ?? sink.port,
    });
    const limits = {
      SMTP_CONNECT_MS: PATIENCE_MS,
      SMTP_COMMAND_MS: PATIENCE_MS,
      SMTP_CONFIRMATION_MS: CONFIRMATION_MS,
    };
    for (let n = 0; n < 2; n += 1) servers.push(await world.startServer(limits));
  });
  afterAll(async () => {
    await world.close();
    for (const { proxy } of cases) await proxy.stop();
  });

  it('lose no message when a connection is cut, and leave the outcome unknown only if the server may have accepted the message', async () => {
    // One after another: a busy machine would answer many large messages at once too late.
    const ids: string[] = [];
    for (const [index, { point }] of cases.entries()) {
      const account = world.accounts[ACCOUNTS + index] as FaultAccount;
      const body = EITHER.includes(point) ? 'x'.repeat(4_000_000) : 'Hello';
      const message = { to: [{ email: `cut-${index}@sink.test` }], body };
      const answer = await call(servers[0] as ServerProcess, account, 'POST', '/v2/outbox', {
        body: message,
      });
      expect(answer?.status).toBe(202);
      ids.push(String(answer?.body.job_status_id));
    }
    await world.settled({ hasten: 'all' });
    const firsts = await world.sql.query<{ id: string; outcome: string }>(
      `select distinct on (job_id) job_id as id, outcome from job_attempt where job_id = any($1::uuid[]) order by job_id, attempt, started_at`,
      [ids],
    );
    const outcomes = cases.map(({ point, verdict, cutter }, index) => ({
      point,
      verdict,
      cuts: cutter.cuts,
      outcome: firsts.find(({ id }) => id === ids[index])?.outcome,
    }));
    expect(outcomes).toEqual(
      cases.map(({ point, verdict }) => ({
        point,
        verdict,
        cuts: 1,
        outcome: EITHER.includes(point)
          ? expect.any(String)
          : MAY_BE_ACCEPTED.includes(point)
            ? 'unknown'
            : 'not-sent',
      })),
    );
    const statuses = await world.sql.query(
      'select distinct status from job_status where id = any($1::uuid[])',
      [ids],
    );
    expect(statuses).toEqual([{ status: 'successful' }]);
  });

  it('lose no message through greylisting, cuts and silence, and duplicate messages only if there is no Sent folder to search', async () => {
    await world.sink.behave({
      seed: 20,
      delayMs: [0, 10],
      deferRecipient: 0.2,
      cutInData: 0.05,
      cutAfterDot: 0.05,
      silentAfterDot: 0.02,
    });
    let asked = 0;
    const accepted = await postMessages(world, {
      messages: MESSAGES,
      accounts: ACCOUNTS,
      server: () => servers[asked++ % servers.length],
      message: usualMessage,
    });
    await world.settled({ hasten: 'all', limitMs: 150_000 });
    const { faults } = await world.sink.counts();
    const made = Object.values(faults).reduce((sum, n) => sum + n, 0);
    await expectPromiseKept(world, {
      test: 'greylisting, cuts and silence of the mail server and the network',
      faults: `${made + cases.length} replies and connections`,
      accepted,
    });
    const kinds = [
      'deferred',
      'cut in DATA',
      'cut after dot, accepted',
      'cut after dot, not accepted',
      'silent after dot, accepted',
      'silent after dot, not accepted',
    ];
    expect(Object.keys(faults).toSorted()).toEqual(kinds.toSorted());
    const statuses = await world.sql.query('select distinct status from job_status');
    expect(statuses).toEqual([{ status: 'successful' }]);
  }, 240_000);
});
