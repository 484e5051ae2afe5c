import type { SmtpAnswer, SmtpScript, SmtpStep } from '../../../test/support/scripted-smtp.ts';
import {
  ALL_PHASES, at, controlOf, failureOf, letter, SHORT, SmtpFixture,
} from '../../../test/support/smtp-fixture.ts'; // prettier-ignore
import { until } from '../../../test/support/until.ts';
import type { SendPhase } from '../../platform/base/errors/provider-error.ts';

const fixture = new SmtpFixture();
afterEach(() => fixture.stop());

const login = { user: 'me', password: 'secret-1' };
/** More than the buffers on the way hold: without a reader it is never given away whole. */
const LARGE = { body: `${'x'.repeat(70)}\r\n`.repeat(300_000) };

/** Less, for those that are read. */
const QUITE_LARGE = { body: `${'x'.repeat(70)}\r\n`.repeat(30_000) };

const BEFORE: [SmtpStep, SendPhase][] = [
  ['connect', 'connect'],
  ['ehlo', 'connect'],
  ['auth', 'login'],
  ['mail', 'envelope'],
  ['rcpt', 'envelope'],
  ['data', 'envelope'],
];
const ENDS: SmtpAnswer[] = [
  { end: 'close' }, { end: 'reset' }, { end: 'silence' }, { end: 'drip' }, { say: '250-half an ans', end: 'close' },
]; // prettier-ignore
const EXTENSIONS: [string, string[]][] = [
  ['with pipelining', ['PIPELINING', 'AUTH PLAIN']],
  ['without pipelining', ['AUTH PLAIN']],
];

const failingAt = (at: SmtpStep, answer: SmtpAnswer, more: SmtpScript = {}): SmtpScript => ({
  ...more,
  answer: (step) => (step === at ? answer : undefined),
});

describe.each(EXTENSIONS)('SmtpSender, cut before the content (%s)', (_, extensions) => {
  it.each(BEFORE)('at %s by whatever end: not sent', async (step, phase) => {
    const cut = async (end: SmtpAnswer) => {
      const server = await fixture.serve(failingAt(step, end, { extensions }));
      const call = fixture
        .sender(SHORT)
        .send('k', at(server, { login }), letter(), controlOf().control);
      const { code, phase: reached, message } = await failureOf(call);
      await until(
        'the connection is gone',
        async () => server.sockets.size === 0 || step !== 'connect',
      );
      return { end, code, reached, silent: message === '', messages: server.messages };
    };
    // At the same time: some of them take as long as their limit.
    expect(await Promise.all(ENDS.map(cut))).toEqual(
      ENDS.map((end) => ({ end, code: 'temporary', reached: phase, silent: false, messages: [] })),
    );
  });
});

describe('SmtpSender, cut in the content', () => {
  it.each([{ end: 'close' }, { end: 'reset' }, { end: 'silence' }] as const)(
    'by %j: not sent',
    async (end) => {
      const server = await fixture.serve(failingAt('block', end));
      const call = fixture
        .sender({ contentMs: 1_500 })
        .send('k', at(server), letter(undefined, LARGE), controlOf().control);
      const error = await failureOf(call);
      expect([error.code, error.phase, server.messages]).toEqual(['temporary', 'content', []]);
    },
  );

  it('by a reader that is too slow as a whole: not sent', async () => {
    const server = await fixture.serve();
    const { control, phases } = controlOf();
    const smtp = fixture.sender({ contentMs: 1 });
    const error = await failureOf(smtp.send('k', at(server), letter(undefined, LARGE), control));
    expect([error.code, error.phase, server.messages]).toEqual(['temporary', 'content', []]);
    expect(phases).toEqual(['connect', 'login', 'envelope', 'content']);
  });
});

describe('SmtpSender, cut after the final dot', () => {
  const ends: SmtpAnswer[] = [
    { end: 'close' }, { end: 'reset' }, { end: 'silence' }, { end: 'drip' }, { say: '250-Ok but', end: 'close' },
    { say: '25', end: 'close' }, { say: '55', end: 'reset' }, { say: 'nonsense\r\n', end: 'silence' },
  ]; // prettier-ignore
  it.each(ends)('by %j: the outcome is unknown', async (end) => {
    const server = await fixture.serve(failingAt('message', end));
    const { control, phases } = controlOf();
    const error = await failureOf(fixture.sender(SHORT).send('k', at(server), letter(), control));
    expect([error.code, error.phase]).toEqual(['outcome-unknown', 'confirmation']);
    expect(error.message).toMatch(/^The content was sent, but the server did not confirm it: \S/);
    expect(phases).toEqual(ALL_PHASES);
  });

  it('by a server that has taken a large content: the outcome is unknown', async () => {
    const server = await fixture.serve(failingAt('message', { end: 'reset' }));
    const error = await failureOf(
      fixture.sender().send('k', at(server), letter(undefined, QUITE_LARGE), controlOf().control),
    );
    expect([error.code, error.phase]).toEqual(['outcome-unknown', 'confirmation']);
  });

  it('tells whom the server had refused and put off before', async () => {
    const server = await fixture.serve({
      answer(step, argument) {
        if (step === 'message') return { end: 'close' };
        if (step !== 'rcpt') return undefined;
        if (argument.includes('no@')) return '550 5.1.1 gone';
        return argument.includes('later@') ? '450 4.2.0 later' : undefined;
      },
    });
    const message = letter(['to@there.test', 'no@there.test', 'later@there.test']);
    const error = await failureOf(
      fixture.sender().send('k', at(server), message, controlOf().control),
    );
    expect(error).toMatchObject({
      code: 'outcome-unknown',
      refused: [{ email: 'no@there.test', reason: '550 5.1.1 gone' }],
      deferred: [{ email: 'later@there.test', reason: '450 4.2.0 later' }],
    });
  });

  it('waits longer for this answer than for others', async () => {
    const server = await fixture.serve(
      failingAt('message', { say: '250 2.0.0 at last', afterMs: 2_000 }),
    );
    const smtp = fixture.sender({ commandMs: 1_500 });
    const receipt = await smtp.send('k', at(server), letter(), controlOf().control);
    expect(receipt.response).toBe('250 2.0.0 at last');
  });
});

describe('SmtpSender, slow and strange servers', () => {
  it('waits for a greeting that is slow', async () => {
    const server = await fixture.serve(failingAt('connect', { say: '220 at last', afterMs: 400 }));
    const receipt = await fixture.sender().send('k', at(server), letter(), controlOf().control);
    expect(receipt.accepted).toEqual(['to@there.test']);
  });

  it.each(['HTTP/1.1 400 Bad Request', '* OK IMAP4rev1 ready', 'x'.repeat(2_000_000)])(
    'does not talk to what is no mail server (%#)',
    async (greeting) => {
      const server = await fixture.serve(failingAt('connect', greeting));
      const error = await failureOf(
        fixture.sender().send('k', at(server, { login }), letter(), controlOf().control),
      );
      expect([error.code, error.phase, server.commands]).toEqual(['temporary', 'connect', []]);
      expect(error.message.length).toBeLessThanOrEqual(300);
    },
  );

  it('says so when nobody listens', async () => {
    const server = await fixture.serve();
    const { port } = server;
    await server.stop();
    const error = await failureOf(
      fixture.sender().send('k', at({ port }), letter(), controlOf().control),
    );
    expect([error.code, error.phase]).toEqual(['temporary', 'connect']);
    expect(error.message).toContain('ECONNREFUSED');
    // So that the fixture may stop it again.
    await fixture.serve();
  });
});

describe('SendControl', () => {
  it.each(ALL_PHASES)(
    'that throws at %s gets its own error back, and nothing is delivered',
    async (stopAt) => {
      const server = await fixture.serve();
      const stopped = new Error('stopped');
      const smtp = fixture.sender();
      const { control, phases } = controlOf((phase) => {
        if (phase === stopAt) throw stopped;
      });
      await expect(smtp.send('k', at(server, { login }), letter(), control)).rejects.toBe(stopped);
      expect(phases).toEqual(ALL_PHASES.slice(0, ALL_PHASES.indexOf(stopAt) + 1));
      if (stopAt === 'content' || stopAt === 'confirmation')
        await until('the connection is cut', async () => server.sockets.size === 0);
      expect(server.messages).toEqual([]);
      expect(stopped.message).toBe('stopped');
      await smtp.send('k', at(server, { login }), letter(), controlOf().control);
      expect(server.messages).toHaveLength(1);
    },
  );

  it.each(ALL_PHASES.slice(1))(
    'that throws at %s does so over a kept connection, too',
    async (stopAt) => {
      const server = await fixture.serve();
      const smtp = fixture.sender();
      await smtp.send('k', at(server), letter(), controlOf().control);
      const stopped = new Error('stopped');
      const { control } = controlOf((phase) => {
        if (phase === stopAt) throw stopped;
      });
      await expect(smtp.send('k', at(server), letter(), control)).rejects.toBe(stopped);
      await smtp.send('k', at(server), letter(), controlOf().control);
      expect(server.messages).toHaveLength(2);
      const cut = stopAt === 'content' || stopAt === 'confirmation';
      expect(server.connections).toBe(cut ? 2 : 1);
    },
  );

  it('aborted before the call makes no connection', async () => {
    const server = await fixture.serve();
    const { control, phases, abort } = controlOf();
    abort();
    const error = await failureOf(fixture.sender().send('k', at(server), letter(), control));
    expect([error.code, phases, server.connections]).toEqual(['temporary', [], 0]);
  });

  it.each(BEFORE)(
    'aborted while the server is silent at %s ends it at once',
    async (step, phase) => {
      const { control, abort } = controlOf();
      const server = await fixture.serve({
        answer(now) {
          if (now !== step) return undefined;
          setImmediate(abort);
          return { end: 'silence' };
        },
      });
      // With the limits of every day: it is not one of them that ends it.
      const error = await failureOf(
        fixture.sender().send('k', at(server, { login }), letter(), control),
      );
      expect([error.code, error.phase]).toEqual(['temporary', phase]);
      expect(error.message).toBe('Given up before the content was sent');
      expect(server.messages).toEqual([]);
    },
  );

  it('aborted while it is told of the content ends it before the first byte', async () => {
    const server = await fixture.serve();
    const { control, phases } = controlOf((phase, abort) => {
      if (phase === 'content') abort();
    });
    const error = await failureOf(fixture.sender().send('k', at(server), letter(), control));
    expect([error.code, phases.at(-1)]).toEqual(['temporary', 'content']);
    await until('the connection is cut', async () => server.sockets.size === 0);
    expect(server.messages).toEqual([]);
  });

  it('aborted after the first byte of the content does not cut the exchange off', async () => {
    const { control, abort } = controlOf();
    const server = await fixture.serve({
      answer(step) {
        if (step === 'block') abort();
        return undefined;
      },
    });
    const receipt = await fixture
      .sender()
      .send('k', at(server), letter(undefined, QUITE_LARGE), control);
    expect(receipt.accepted).toEqual(['to@there.test']);
    expect(server.messages).toHaveLength(1);
  });

  it('aborted while it is told of the confirmation does not cut the exchange off', async () => {
    const server = await fixture.serve();
    const { control } = controlOf((phase, abort) => {
      if (phase === 'confirmation') abort();
    });
    const receipt = await fixture.sender().send('k', at(server), letter(), control);
    expect(receipt.accepted).toEqual(['to@there.test']);
  });

  it('aborted during the answer to the content waits for that answer', async () => {
    const { control, abort } = controlOf();
    const server = await fixture.serve({
      answer(step) {
        if (step !== 'message') return undefined;
        abort();
        return { say: '250 2.0.0 Ok', afterMs: 50 };
      },
    });
    const receipt = await fixture.sender().send('k', at(server), letter(), control);
    expect(receipt.accepted).toEqual(['to@there.test']);
  });
});
