import type {
  ScriptedSmtp,
  SmtpAnswer,
  SmtpScript,
  SmtpStep,
} from '../../../test/support/scripted-smtp.ts';
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
import type { SmtpSender } from './smtp-sender.ts';
import type { SmtpServer } from './smtp-settings.ts';

const fixture = new SmtpFixture();
afterEach(() => fixture.stop());

const send = (smtp: SmtpSender, server: ScriptedSmtp, key = 'k', more: Partial<SmtpServer> = {}) =>
  smtp.send(key, at(server, more), smallMessage(), controlOf().control);
const quits = ({ commands }: ScriptedSmtp) => commands.filter((line) => line === 'QUIT').length;

describe('SmtpSender: kept connections', () => {
  it('reuses a connection for the next message without a new login', async () => {
    const server = await fixture.serve();
    const smtp = fixture.sender();
    const login = { user: 'me', password: 'secret-1' };
    for (let n = 0; n < 5; n++) await send(smtp, server, 'k', { login });
    expect([server.connections, server.messages.length]).toEqual([1, 5]);
    expect(server.commands.filter((line) => line.startsWith('AUTH'))).toHaveLength(1);
  });

  it('reuses a connection only for the same key, server and login', async () => {
    const server = await fixture.serve();
    const smtp = fixture.sender();
    await send(smtp, server, 'k');
    await send(smtp, server, 'other');
    await send(smtp, server, 'k', { login: { user: 'me', password: 'secret-1' } });
    await send(smtp, server, 'k', { login: { user: 'me', password: 'secret-2' } });
    await send(smtp, server, 'k', { login: { user: 'me', accessToken: 'secret-1' } });
    await send(smtp, server, 'k', { host: 'localhost' });
    expect(server.connections).toBe(6);
    expect(new Set(server.messages.map(({ connection }) => connection)).size).toBe(6);
  });

  it('sends one message at a time over a connection', async () => {
    const server = await fixture.serve();
    const smtp = fixture.sender();
    await Promise.all(Array.from({ length: 8 }, () => send(smtp, server)));
    expect([server.connections, server.messages.length]).toEqual([8, 8]);
  });

  it('keeps the configured number per key and soon closes the others politely', async () => {
    const server = await fixture.serve();
    const smtp = fixture.sender({ keptPerKey: 2, furtherIdleMs: 100 });
    await Promise.all(Array.from({ length: 5 }, () => send(smtp, server)));
    await until('three are closed', async () => quits(server) === 3 && server.sockets.size === 2);
  });

  it('keeps the configured number altogether and closes the one unused for longest', async () => {
    const server = await fixture.serve();
    const smtp = fixture.sender({ kept: 2 });
    for (const key of ['a', 'b', 'c']) await send(smtp, server, key);
    await until('one is closed', async () => server.sockets.size === 2);
    await send(smtp, server, 'c');
    await send(smtp, server, 'b');
    expect(server.connections).toBe(3);
  });

  it('closes a connection that was unused for the configured time', async () => {
    const server = await fixture.serve();
    const smtp = fixture.sender({ idleMs: 50 });
    await send(smtp, server);
    await until(
      'the connection is closed',
      async () => quits(server) === 1 && server.sockets.size === 0,
    );
    await send(smtp, server);
    expect(server.messages).toHaveLength(2);
  });

  it('closes a connection after the configured number of messages', async () => {
    const server = await fixture.serve();
    const smtp = fixture.sender({ messagesPerConnection: 2 });
    for (let n = 0; n < 5; n++) await send(smtp, server);
    expect(server.messages.map(({ connection }) => connection)).toEqual([1, 1, 2, 2, 3]);
  });

  it('sends QUIT to all kept connections on close, does not wait for silent servers and keeps none afterwards', async () => {
    const polite = await fixture.serve();
    const silent = await fixture.serve({
      answer: (step) => (step === 'quit' ? { end: 'silence' } : undefined),
    });
    const smtp = fixture.sender();
    await send(smtp, polite);
    await send(smtp, silent);
    await smtp.close();
    await until('all are closed', async () => polite.sockets.size + silent.sockets.size === 0);
    expect([quits(polite), quits(silent)]).toEqual([1, 1]);
    expect((await failureOf(send(smtp, polite))).code).toBe('temporary');
    await until('none is left', async () => polite.sockets.size === 0);
  });

  it('cuts connections in use on close', async () => {
    const server = await fixture.serve({
      answer: (step) => (step === 'mail' ? { end: 'silence' } : undefined),
    });
    const smtp = fixture.sender();
    const call = failureOf(send(smtp, server));
    await until('the message is being sent', async () =>
      server.commands.some((line) => line.startsWith('MAIL')),
    );
    await smtp.close();
    expect((await call).code).toBe('temporary');
  });

  it('resets a connection after a refused message', async () => {
    let refuse = true;
    const server = await fixture.serve({
      answer: (step) => (step === 'message' && refuse ? '554 5.7.1 Spam' : undefined),
    });
    const smtp = fixture.sender();
    await failureOf(send(smtp, server));
    refuse = false;
    await until('the connection was reset', async () => server.commands.includes('RSET'));
    await send(smtp, server);
    expect(server.messages).toHaveLength(1);
  });

  it('closes a connection that the server does not reset', async () => {
    const server = await fixture.serve({
      answer: (step, _, connection) => {
        if (connection > 1) return undefined;
        return step === 'message'
          ? '554 5.7.1 Spam'
          : step === 'rset'
            ? '500 5.5.1 what?'
            : undefined;
      },
    });
    const smtp = fixture.sender();
    await failureOf(send(smtp, server));
    await until('the connection is closed', async () => server.sockets.size === 0);
    await send(smtp, server);
    expect(server.messages.map(({ connection }) => connection)).toEqual([2]);
  });
});

/** Accepts one message on each connection; sends `answer` when a later message reaches `step`. */
function once(step: SmtpStep, answer: SmtpAnswer, more: SmtpScript = {}): SmtpScript {
  const taken = new Set<number>();
  return {
    ...more,
    answer(now, _, connection) {
      if (now === 'message') taken.add(connection);
      return now === step && taken.has(connection) && connection === 1 ? answer : undefined;
    },
  };
}

describe('SmtpSender: a kept connection that is dead', () => {
  it.each(['close', 'reset'] as const)(
    'is not used if it is already known to be closed (%s)',
    async (how) => {
      const server = await fixture.serve();
      const smtp = fixture.sender();
      await send(smtp, server);
      for (const socket of server.sockets)
        if (how === 'close') socket.end();
        else socket.resetAndDestroy();
      await until('the connection is closed', async () => server.sockets.size === 0);
      await send(smtp, server);
      expect(server.messages.map(({ connection }) => connection)).toEqual([1, 2]);
    },
  );

  it('does not affect the next message after the server sent 421 in between', async () => {
    const server = await fixture.serve();
    const smtp = fixture.sender();
    await send(smtp, server);
    for (const socket of server.sockets) socket.end('421 4.4.2 idle for too long\r\n');
    await until('the connection is closed', async () => server.sockets.size === 0);
    await send(smtp, server);
    expect(server.messages.map(({ connection }) => connection)).toEqual([1, 2]);
  });

  it.each([
    { end: 'close' },
    { end: 'reset' },
    '421 4.4.2 idle for too long',
    '451 4.4.2 Timeout - closing connection.',
    { say: '421 4.3.2 going down\r\n', end: 'close' },
  ] as SmtpAnswer[])(
    'is replaced in the same attempt if it fails as the message begins (%j)',
    async (answer) => {
      for (const extensions of [['PIPELINING'], ['8BITMIME']]) {
        const server = await fixture.serve(once('mail', answer, { extensions }));
        const smtp = fixture.sender();
        await send(smtp, server);
        const { control, phases } = controlOf();
        const receipt = await smtp.send('k', at(server), smallMessage(), control);
        expect(receipt.accepted).toEqual(['to@there.test']);
        expect(phases).toEqual(['connect', 'login', 'envelope', ...ALL_PHASES]);
        expect(server.messages.map(({ connection }) => connection)).toEqual([1, 2]);
      }
    },
  );

  it('is replaced by a new connection only once, not by other kept ones', async () => {
    let dead = false;
    const server = await fixture.serve({
      answer: (step) => (dead && step === 'mail' ? { end: 'reset' } : undefined),
    });
    const smtp = fixture.sender();
    await Promise.all(Array.from({ length: 4 }, () => send(smtp, server)));
    dead = true;
    const error = await failureOf(send(smtp, server));
    expect([error.code, error.phase, server.connections]).toEqual(['temporary', 'envelope', 5]);
  });

  // Without pipelining the server has accepted the sender before the connection ends.
  it.each([
    ['rcpt', { end: 'reset' }],
    ['rcpt', '421 4.3.2 going down'],
    ['data', { end: 'close' }],
    ['mail', '450 4.7.1 not now'],
    ['mail', { end: 'silence' }],
  ] as [SmtpStep, SmtpAnswer][])(
    'is not replaced once the server has replied to this message (%s: %j)',
    async (step, answer) => {
      const server = await fixture.serve(once(step, answer, { extensions: ['8BITMIME'] }));
      const smtp = fixture.sender(SHORT);
      await send(smtp, server);
      const error = await failureOf(send(smtp, server));
      expect([error.code, error.phase, server.connections]).toEqual(['temporary', 'envelope', 1]);
    },
  );

  it('leaves the outcome unknown after the final dot, as a new one does', async () => {
    let messages = 0;
    const server = await fixture.serve({
      answer: (step) => (step === 'message' && ++messages > 1 ? { end: 'reset' } : undefined),
    });
    const smtp = fixture.sender();
    await send(smtp, server);
    const error = await failureOf(send(smtp, server));
    expect([error.code, server.connections, server.messages.length]).toEqual([
      'outcome-unknown',
      1,
      1,
    ]);
  });

  it('is not replaced when the caller stops the send', async () => {
    const server = await fixture.serve(once('mail', { end: 'reset' }));
    const smtp = fixture.sender();
    await send(smtp, server);
    const stopped = new Error('stopped');
    let connects = 0;
    const { control } = controlOf((phase) => {
      if (phase === 'connect' && ++connects > 1) throw stopped;
    });
    await expect(smtp.send('k', at(server), smallMessage(), control)).rejects.toBe(stopped);
    expect([server.connections, server.messages.length]).toEqual([1, 1]);
  });
});
