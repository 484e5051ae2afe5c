import type { SmtpAnswer, SmtpScript, SmtpStep } from '../../../test/support/scripted-smtp.ts';
import {
  ALL_PHASES,
  at,
  controlOf,
  failureOf,
  smallMessage,
  SHORT,
  SmtpFixture,
} from '../../../test/support/smtp-fixture.ts';
import { until } from '../../../test/support/until.ts';
import type { SendPhase } from '../../platform/base/errors/provider-error.ts';

const fixture = new SmtpFixture();
afterEach(() => fixture.stop());

const login = { user: 'me', password: 'secret-1' };
/** Larger than all buffers on the way: unless the server reads, it is never sent completely. */
const LARGE = { body: `${'x'.repeat(70)}\r\n`.repeat(300_000) };

/** Smaller, for servers that read. */
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
  { end: 'close' },
  { end: 'reset' },
  { end: 'silence' },
  { end: 'drip' },
  { say: '250-half an ans', end: 'close' },
];
const EXTENSIONS: [string, string[]][] = [
  ['with pipelining', ['PIPELINING', 'AUTH PLAIN']],
  ['without pipelining', ['AUTH PLAIN']],
];

const failingAt = (at: SmtpStep, answer: SmtpAnswer, more: SmtpScript = {}): SmtpScript => ({
  ...more,
  answer: (step) => (step === at ? answer : undefined),
});

describe.each(EXTENSIONS)(
  'SmtpSender: connection lost before the content (%s)',
  (_, extensions) => {
    it.each(BEFORE)(
      'reports at step %s that the message was not sent, however the connection ends',
      async (step, phase) => {
        const cut = async (end: SmtpAnswer) => {
          const server = await fixture.serve(failingAt(step, end, { extensions }));
          const call = fixture
            .sender(SHORT)
            .send('k', at(server, { login }), smallMessage(), controlOf().control);
          const { code, phase: reached, message } = await failureOf(call);
          await until(
            'the connection is gone',
            async () => server.sockets.size === 0 || step !== 'connect',
          );
          return { end, code, reached, silent: message === '', messages: server.messages };
        };
        // In parallel, because some of them take as long as their time limit.
        expect(await Promise.all(ENDS.map(cut))).toEqual(
          ENDS.map((end) => ({
            end,
            code: 'temporary',
            reached: phase,
            silent: false,
            messages: [],
          })),
        );
      },
    );
  },
);

describe('SmtpSender: connection lost in the content', () => {
  it.each([{ end: 'close' }, { end: 'reset' }, { end: 'silence' }] as const)(
    'reports after %j that the message was not sent',
    async (end) => {
      const server = await fixture.serve(failingAt('block', end));
      const call = fixture
        .sender({ contentMs: 1_500 })
        .send('k', at(server), smallMessage(undefined, LARGE), controlOf().control);
      const error = await failureOf(call);
      expect([error.code, error.phase, server.messages]).toEqual(['temporary', 'content', []]);
    },
  );

  it('reports that the message was not sent when the server reads it too slowly', async () => {
    const server = await fixture.serve();
    const { control, phases } = controlOf();
    const smtp = fixture.sender({ contentMs: 1 });
    const error = await failureOf(
      smtp.send('k', at(server), smallMessage(undefined, LARGE), control),
    );
    expect([error.code, error.phase, server.messages]).toEqual(['temporary', 'content', []]);
    expect(phases).toEqual(['connect', 'login', 'envelope', 'content']);
  });
});

describe('SmtpSender: connection lost after the final dot', () => {
  const ends: SmtpAnswer[] = [
    { end: 'close' },
    { end: 'reset' },
    { end: 'silence' },
    { end: 'drip' },
    { say: '250-Ok but', end: 'close' },
    { say: '25', end: 'close' },
    { say: '55', end: 'reset' },
    { say: 'nonsense\r\n', end: 'silence' },
  ];
  it.each(ends)('reports an unknown outcome after %j', async (end) => {
    const server = await fixture.serve(failingAt('message', end));
    const { control, phases } = controlOf();
    const error = await failureOf(
      fixture.sender(SHORT).send('k', at(server), smallMessage(), control),
    );
    expect([error.code, error.phase]).toEqual(['outcome-unknown', 'confirmation']);
    expect(error.message).toMatch(/^The content was sent, but the server did not confirm it: \S/);
    expect(phases).toEqual(ALL_PHASES);
  });

  it('reports an unknown outcome after a large content', async () => {
    const server = await fixture.serve(failingAt('message', { end: 'reset' }));
    const error = await failureOf(
      fixture
        .sender()
        .send('k', at(server), smallMessage(undefined, QUITE_LARGE), controlOf().control),
    );
    expect([error.code, error.phase]).toEqual(['outcome-unknown', 'confirmation']);
  });

  it('reports the recipients that the server had refused or deferred before', async () => {
    const server = await fixture.serve({
      answer(step, argument) {
        if (step === 'message') return { end: 'close' };
        if (step !== 'rcpt') return undefined;
        if (argument.includes('no@')) return '550 5.1.1 gone';
        return argument.includes('later@') ? '450 4.2.0 later' : undefined;
      },
    });
    const message = smallMessage(['to@there.test', 'no@there.test', 'later@there.test']);
    const error = await failureOf(
      fixture.sender().send('k', at(server), message, controlOf().control),
    );
    expect(error).toMatchObject({
      code: 'outcome-unknown',
      refused: [{ email: 'no@there.test', reason: '550 5.1.1 gone' }],
      deferred: [{ email: 'later@there.test', reason: '450 4.2.0 later' }],
    });
  });

  it('waits longer for this reply than for others', async () => {
    const server = await fixture.serve(
      failingAt('message', { say: '250 2.0.0 at last', afterMs: 2_000 }),
    );
    const smtp = fixture.sender({ commandMs: 1_500 });
    const receipt = await smtp.send('k', at(server), smallMessage(), controlOf().control);
    expect(receipt.response).toBe('250 2.0.0 at last');
  });
});

describe('SmtpSender: slow servers and servers of other protocols', () => {
  it('waits for a slow greeting', async () => {
    const server = await fixture.serve(failingAt('connect', { say: '220 at last', afterMs: 400 }));
    const receipt = await fixture
      .sender()
      .send('k', at(server), smallMessage(), controlOf().control);
    expect(receipt.accepted).toEqual(['to@there.test']);
  });

  it.each(['HTTP/1.1 400 Bad Request', '* OK IMAP4rev1 ready', 'x'.repeat(2_000_000)])(
    'does not talk to a server that does not speak SMTP (%#)',
    async (greeting) => {
      const server = await fixture.serve(failingAt('connect', greeting));
      const error = await failureOf(
        fixture.sender().send('k', at(server, { login }), smallMessage(), controlOf().control),
      );
      expect([error.code, error.phase, server.commands]).toEqual(['temporary', 'connect', []]);
      expect(error.message.length).toBeLessThanOrEqual(300);
    },
  );

  it('reports that no server listens on the port', async () => {
    const server = await fixture.serve();
    const { port } = server;
    await server.stop();
    const error = await failureOf(
      fixture.sender().send('k', at({ port }), smallMessage(), controlOf().control),
    );
    expect([error.code, error.phase]).toEqual(['temporary', 'connect']);
    expect(error.message).toContain('ECONNREFUSED');
    // Listens again, so that the fixture can stop the server.
    await fixture.serve();
  });
});

describe('SmtpSender: SendControl', () => {
  it.each(ALL_PHASES)(
    'rethrows an error of onPhase at %s unchanged and delivers nothing',
    async (stopAt) => {
      const server = await fixture.serve();
      const stopped = new Error('stopped');
      const smtp = fixture.sender();
      const { control, phases } = controlOf((phase) => {
        if (phase === stopAt) throw stopped;
      });
      await expect(smtp.send('k', at(server, { login }), smallMessage(), control)).rejects.toBe(
        stopped,
      );
      expect(phases).toEqual(ALL_PHASES.slice(0, ALL_PHASES.indexOf(stopAt) + 1));
      if (stopAt === 'content' || stopAt === 'confirmation')
        await until('the connection is cut', async () => server.sockets.size === 0);
      expect(server.messages).toEqual([]);
      expect(stopped.message).toBe('stopped');
      await smtp.send('k', at(server, { login }), smallMessage(), controlOf().control);
      expect(server.messages).toHaveLength(1);
    },
  );

  it.each(ALL_PHASES.slice(1))(
    'rethrows an error of onPhase at %s over a kept connection, too',
    async (stopAt) => {
      const server = await fixture.serve();
      const smtp = fixture.sender();
      await smtp.send('k', at(server), smallMessage(), controlOf().control);
      const stopped = new Error('stopped');
      const { control } = controlOf((phase) => {
        if (phase === stopAt) throw stopped;
      });
      await expect(smtp.send('k', at(server), smallMessage(), control)).rejects.toBe(stopped);
      await smtp.send('k', at(server), smallMessage(), controlOf().control);
      expect(server.messages).toHaveLength(2);
      const cut = stopAt === 'content' || stopAt === 'confirmation';
      expect(server.connections).toBe(cut ? 2 : 1);
    },
  );

  it('makes no connection if the signal is aborted before the call', async () => {
    const server = await fixture.serve();
    const { control, phases, abort } = controlOf();
    abort();
    const error = await failureOf(fixture.sender().send('k', at(server), smallMessage(), control));
    expect([error.code, phases, server.connections]).toEqual(['temporary', [], 0]);
  });

  it.each(BEFORE)(
    'ends at once when aborted while the server is silent at %s',
    async (step, phase) => {
      const { control, abort } = controlOf();
      const server = await fixture.serve({
        answer(now) {
          if (now !== step) return undefined;
          setImmediate(abort);
          return { end: 'silence' };
        },
      });
      // With the default limits, so that no time limit ends the send.
      const error = await failureOf(
        fixture.sender().send('k', at(server, { login }), smallMessage(), control),
      );
      expect([error.code, error.phase]).toEqual(['temporary', phase]);
      expect(error.message).toBe('The send was aborted before the content was sent');
      expect(server.messages).toEqual([]);
    },
  );

  it('ends before the first byte when aborted as the content phase begins', async () => {
    const server = await fixture.serve();
    const { control, phases } = controlOf((phase, abort) => {
      if (phase === 'content') abort();
    });
    const error = await failureOf(fixture.sender().send('k', at(server), smallMessage(), control));
    expect([error.code, phases.at(-1)]).toEqual(['temporary', 'content']);
    await until('the connection is cut', async () => server.sockets.size === 0);
    expect(server.messages).toEqual([]);
  });

  it('completes the exchange when aborted after the first byte of the content', async () => {
    const { control, abort } = controlOf();
    const server = await fixture.serve({
      answer(step) {
        if (step === 'block') abort();
        return undefined;
      },
    });
    const receipt = await fixture
      .sender()
      .send('k', at(server), smallMessage(undefined, QUITE_LARGE), control);
    expect(receipt.accepted).toEqual(['to@there.test']);
    expect(server.messages).toHaveLength(1);
  });

  it('completes the exchange when aborted as the confirmation phase begins', async () => {
    const server = await fixture.serve();
    const { control } = controlOf((phase, abort) => {
      if (phase === 'confirmation') abort();
    });
    const receipt = await fixture.sender().send('k', at(server), smallMessage(), control);
    expect(receipt.accepted).toEqual(['to@there.test']);
  });

  it('waits for the reply when aborted after the content was sent', async () => {
    const { control, abort } = controlOf();
    const server = await fixture.serve({
      answer(step) {
        if (step !== 'message') return undefined;
        abort();
        return { say: '250 2.0.0 Ok', afterMs: 50 };
      },
    });
    const receipt = await fixture.sender().send('k', at(server), smallMessage(), control);
    expect(receipt.accepted).toEqual(['to@there.test']);
  });
});
