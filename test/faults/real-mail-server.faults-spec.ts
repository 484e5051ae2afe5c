import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, it } from '@jest/globals';
import { expectPromiseKept } from '../support/fault-figures.ts';
import { postMessages } from '../support/fault-load.ts';
import { Fleet } from '../support/fleet.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { RealMailWorld } from '../support/real-mail-world.ts';
import { sized } from '../support/sized.ts';
import type { Judge } from '../support/tcp-proxy.ts';
import { until } from '../support/until.ts';

const MESSAGES = sized(12, 150);
const ACCOUNTS = sized(2, 8);
const KILLS = sized(2, 12);
/** A kill waits for servers that are still starting, which takes long on a busy machine. */
const KILLS_LIMIT_MS = sized(60_000, 240_000);
const DOT = '\r\n.\r\n';

/** What happens to a conversation when a message ends in it. */
type End = 'pass' | 'lost on its way' | 'answer lost' | 'silence';

/** Decides over conversations with Exim, and counts what it has done. */
class Damage {
  readonly done: Record<End, number> = {
    pass: 0,
    'lost on its way': 0,
    'answer lost': 0,
    silence: 0,
  };

  /** @param ends what happens to the first messages, one after the other; later ones pass */
  constructor(private readonly ends: readonly End[]) {}

  /** Conversations that did not pass. */
  get faults(): number {
    return this.ends.filter((end) => end !== 'pass').length;
  }

  readonly judgeNext = (): Judge => {
    let ends: End = 'pass';
    return ({ from, bytes }) => {
      if (from === 'server') {
        if (ends === 'pass') return 'pass';
        return ends === 'silence' ? 'swallow' : 'reset';
      }
      if (!bytes.includes(DOT)) return 'pass';
      const total = Object.values(this.done).reduce((sum, n) => sum + n, 0);
      ends = this.ends[total] ?? 'pass';
      this.done[ends] += 1;
      return ends === 'lost on its way' ? 'reset' : 'pass';
    };
  };
}

/**
 * A mail server that files sent messages itself, but seven seconds late. The program looks 15
 * seconds after an outcome became unknown.
 */
describeWith(['dovecot', 'exim4'], 'a real mail server whose Sent folder lags', () => {
  let world: RealMailWorld | undefined;
  let fleet: Fleet | undefined;
  afterEach(async () => {
    await fleet?.endKilling();
    await world?.close();
    world = undefined;
    fleet = undefined;
  }, 60_000);

  const mix = (ends: readonly End[], count: number): End[] =>
    Array.from({ length: count }, (_, n) => ends[n % ends.length] ?? 'pass');

  async function begin(damage: Damage, servers: number): Promise<[RealMailWorld, Fleet]> {
    world = await RealMailWorld.start({ accounts: ACCOUNTS, judgeNext: damage.judgeNext });
    fleet = await Fleet.start(world, servers);
    return [world, fleet];
  }
  const post = (mail: RealMailWorld, servers: Fleet) =>
    postMessages(mail, {
      messages: MESSAGES,
      callers: 4,
      server: () => servers.next(),
      message: (n) => ({
        to: [{ email: mail.recipient.email }],
        subject: `number ${n}`,
        body: 'Hello',
      }),
    });
  /** Number of messages that a look-up has found. */
  const found = (mail: RealMailWorld) =>
    mail.count(
      `select count(distinct job_id)::int as n from job_attempt where detail = 'found among the sent messages'`,
    );

  it('gets each message once, though messages, answers and look-ups are cut', async () => {
    const damage = new Damage(mix(['answer lost', 'lost on its way', 'silence', 'pass'], MESSAGES));
    const [mail, servers] = await begin(damage, 2);
    const cutting = new AbortController();
    const cuts = (async () => {
      // A look-up that is cut is repeated.
      for (let n = 0; !cutting.signal.aborted; n += 1) {
        if (n % 4 === 3) mail.imap.reset();
        await delay(1_000);
      }
    })();
    const accepted = await post(mail, servers);
    await mail.settled({ limitMs: 150_000 });
    cutting.abort();
    await cuts;
    await expectPromiseKept(mail, {
      test: 'a real mail server whose connections are cut',
      faults: `${damage.faults} messages and answers`,
      accepted,
    });
    // Messages that had arrived were found. The others were sent again, once.
    const { 'answer lost': lost, silence } = damage.done;
    expect(await found(mail)).toBe(lost + silence);
    expect((await mail.accepted()).length).toBe(MESSAGES);
  }, 240_000);

  it(
    'gets each message once, though servers die while it answers',
    async () => {
      const damage = new Damage(mix(['silence', 'pass'], MESSAGES));
      const [mail, servers] = await begin(damage, 3);
      servers.beginKilling(2_000);
      const accepted = await post(mail, servers);
      await until('enough kills', () => Promise.resolve(servers.kills >= KILLS), KILLS_LIMIT_MS);
      await servers.endKilling();
      await mail.settled({ limitMs: 150_000 });
      await expectPromiseKept(mail, {
        test: 'a real mail server, and servers killed with -9',
        faults: `${servers.kills} kills`,
        accepted,
      });
      expect(await found(mail)).toBeGreaterThan(0);
      expect(new Set(await servers.stop())).toEqual(new Set([0]));
    },
    sized(240_000, 480_000),
  );
});
