import { setTimeout as delay } from 'node:timers/promises';
import { expectPromiseKept } from '../support/fault-figures.ts';
import { type CallResponse, call } from '../support/fault-load.ts';
import { FaultWorld } from '../support/fault-world.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { sized } from '../support/sized.ts';
import { until } from '../support/until.ts';
import type { FaultAccount } from '../support/worker-world.ts';

const ROUNDS = sized(2, 3);
const PER_ROUND = 200;
const CALLERS = 8;
const ACCOUNTS = 25;

/** A message that is changed or cancelled at the moment of sending. */
interface Race {
  id: string;
  account: FaultAccount;
  method: 'PATCH' | 'DELETE';
  subject: string;
  answer: CallResponse | null;
}

describe('edits and cancellations at the moment of sending', () => {
  let world: FaultWorld;
  const servers: ServerProcess[] = [];
  const accepted: string[] = [];

  beforeAll(async () => {
    world = await FaultWorld.start({ accounts: ACCOUNTS });
    await world.sink.behave({ delayMs: [0, 20] });
    for (let n = 0; n < 2; n += 1) servers.push(await world.startServer({ SEND_SLOTS: '8' }));
  });
  afterAll(() => world.close(), 30_000);

  const post = async (n: number, sendAt: number): Promise<Race> => {
    const account = world.accounts[n % ACCOUNTS] as FaultAccount;
    const subject = `message ${n}`;
    const body = { to: [{ email: `to-${n}@sink.test` }], subject, send_at: sendAt };
    const answer = await call(servers[n % 2] as ServerProcess, account, 'POST', '/v2/outbox', {
      body,
    });
    expect(answer?.status).toBe(202);
    const id = String(answer?.body.job_status_id);
    accepted.push(id);
    return { id, account, method: n % 4 < 2 ? 'PATCH' : 'DELETE', subject, answer: null };
  };
  const fire = async (race: Race, n: number): Promise<void> => {
    const body = race.method === 'PATCH' ? { subject: `${race.subject}, edited` } : undefined;
    const server = servers[(n >> 1) % 2] as ServerProcess;
    race.answer = await call(server, race.account, race.method, `/v2/outbox/${race.id}`, { body });
  };

  it(`get responses that agree with what the mail server received, ${ROUNDS * PER_ROUND} times`, async () => {
    const races: Race[] = [];
    /**
     * Current estimate of the delay after the due time, in milliseconds, at which half of the
     * requests come too late.
     */
    let middle = 100;
    /**
     * Milliseconds that posting a round took last time. The next round is due after all of its
     * messages are accepted.
     */
    let postingMs = 2_000;
    for (let round = 0; round < ROUNDS; round += 1) {
      const begun = Date.now();
      const dueAt = Math.ceil((begun + postingMs * 1.5) / 1000);
      const members: Race[] = [];
      const poster = async (first: number) => {
        for (let n = first; n < PER_ROUND; n += CALLERS)
          members[n] = await post(races.length + n, dueAt);
      };
      await Promise.all(Array.from({ length: CALLERS }, (_, first) => poster(first)));
      postingMs = Date.now() - begun;
      await Promise.all(
        members.map(async (race, n) => {
          await delay(Math.max(dueAt * 1000 + middle * 2 * Math.random() - 50 - Date.now(), 0));
          await fire(race, n);
        }),
      );
      const inTime = members.filter(({ answer }) => answer?.status === 200).length;
      middle = Math.min(Math.max(inTime > PER_ROUND / 2 ? middle * 1.5 : middle / 1.5, 20), 2_000);
      races.push(...members);
    }
    await world.settled();
    await until(
      'the last webhook delivery',
      async () => (await world.count('select count(*) as n from hook_job')) === 0,
    );

    const subjects = new Map<string, string[]>();
    for (const { recipients, subject } of await world.sink.accepted()) {
      const [recipient = ''] = recipients;
      subjects.set(recipient, [...(subjects.get(recipient) ?? []), subject]);
    }
    const wrong = races.flatMap(({ method, subject, answer }, n) => {
      const arrived = subjects.get(`to-${n}@sink.test`) ?? [];
      const ok = answer?.status === 200;
      const expected = !ok ? [subject] : method === 'DELETE' ? [] : [`${subject}, edited`];
      const agrees = JSON.stringify(arrived) === JSON.stringify(expected);
      return agrees && (ok || answer?.status === 409) ? [] : [{ method, answer, arrived }];
    });
    expect(wrong).toEqual([]);
    const answers = (method: string, status: number) =>
      races.filter((race) => race.method === method && race.answer?.status === status).length;
    // For each kind of request, some came in time and some too late. Otherwise there was no race.
    for (const method of ['PATCH', 'DELETE']) {
      for (const status of [200, 409]) expect(answers(method, status)).toBeGreaterThan(10);
    }
    await expectPromiseKept(world, {
      test: 'PATCH and DELETE at the moment of sending',
      faults: `${races.length} races, ${answers('PATCH', 200)} edited, ${answers('DELETE', 200)} cancelled`,
      accepted,
    });
  }, 180_000);
});
