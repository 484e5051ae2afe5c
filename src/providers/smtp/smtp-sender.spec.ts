import { randomUUID } from 'node:crypto';
import { ScriptedSmtp, type SmtpScript } from '../../../test/support/scripted-smtp.ts';
import { TEST_CERTIFICATE } from '../../../test/support/tls-certificate.ts';
import { until } from '../../../test/support/until.ts';
import { EgressPolicy } from '../../common/egress/egress-policy.ts';
import type { OutgoingMessage, SendControl } from '../connector.ts';
import { ProviderError, type SendPhase } from '../provider-error.ts';
import { SmtpSender } from './smtp-sender.ts';
import type { SmtpLimits, SmtpServer } from './smtp-settings.ts';

const LOOPBACK = ['127.0.0.0/8', '::1'];
const SHORT = { connectMs: 300, commandMs: 300, contentMs: 2_000, confirmationMs: 300 };
const ALL: SendPhase[] = ['connect', 'login', 'envelope', 'content', 'confirmation'];

const open: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const thing of open.splice(0).toReversed()) await thing.stop();
});

async function serve(script: SmtpScript = {}): Promise<ScriptedSmtp> {
  const server = await ScriptedSmtp.start(script);
  open.push(server);
  return server;
}

function sender(limits: Partial<SmtpLimits> = {}, allow = LOOPBACK): SmtpSender {
  const made = new SmtpSender(new EgressPolicy(allow), limits);
  open.push({ stop: () => made.close() });
  return made;
}

const at = ({ port }: { port: number }, more: Partial<SmtpServer> = {}): SmtpServer => ({
  host: '127.0.0.1',
  port,
  security: 'none',
  login: null,
  ...more,
});

function message(recipients: string[] = ['to@there.test'], body = 'Good day.'): OutgoingMessage {
  const messageIdHeader = `<${randomUUID()}@here.test>`;
  const mime = Buffer.from(`Message-ID: ${messageIdHeader}\r\nSubject: Test\r\n\r\n${body}\r\n`);
  return { messageIdHeader, mime, envelope: { from: 'me@here.test', recipients }, bcc: [] };
}

function control(stopAt?: SendPhase, error: Error = new Error('stopped')) {
  const abort = new AbortController();
  const phases: SendPhase[] = [];
  const onPhase = (phase: SendPhase) => {
    phases.push(phase);
    if (phase === stopAt) throw error;
  };
  return { phases, abort, signal: abort.signal, onPhase } satisfies SendControl & Record<string, unknown>;
}

async function failure(call: Promise<unknown>): Promise<ProviderError> {
  const error: unknown = await call.then(
    () => new Error('it went well'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof ProviderError)) throw error;
  return error;
}

describe('SmtpSender, a message', () => {
  it('arrives as it was composed, with all phases told in order', async () => {
    const server = await serve();
    const one = control();
    const sent = message(['a@there.test', 'b@there.test'], '.dot\r\n..two\r\n.\r\nend');
    const receipt = await sender().send('k', at(server), sent, one);
    expect(receipt).toEqual({
      accepted: ['a@there.test', 'b@there.test'],
      refused: [],
      deferred: [],
      response: '250 2.0.0 Ok: queued as 4711',
    });
    expect(one.phases).toEqual(ALL);
    expect(server.messages).toEqual([
      {
        from: 'me@here.test',
        to: ['a@there.test', 'b@there.test'],
        content: sent.mime.toString(),
        connection: 1,
      },
    ]);
    expect(server.commands.find((line) => line.startsWith('MAIL'))).toBe(
      `MAIL FROM:<me@here.test> SIZE=${sent.mime.length}`,
    );
  });

  it('goes over the connection of the one before', async () => {
    const server = await serve();
    const smtp = sender();
    for (let n = 0; n < 5; n++) {
      await smtp.send('k', at(server), message(), control());
      await until('the connection is kept', async () => server.messages.length === n + 1);
    }
    expect([server.connections, server.messages.length]).toEqual([1, 5]);
  });
});

describe('SmtpSender, encryption', () => {
  const login = { user: 'me', password: 'secret-1' };
  it.each(['tls', 'starttls'] as const)('logs in and sends over %s', async (security) => {
    const server = await serve({ tls: security === 'tls' ? 'implicit' : 'starttls' });
    const smtp = sender({ ca: TEST_CERTIFICATE });
    await smtp.send('k', at(server, { security, login, host: 'localhost' }), message(), control());
    expect(server.messages).toHaveLength(1);
    expect(server.commands.filter((line) => line.startsWith('AUTH'))).toHaveLength(1);
  });
});

describe('SmtpSender, after the dot', () => {
  it.each([['close' as const], ['reset' as const], ['silence' as const]])(
    'knows nothing when the server answers with %s',
    async (end) => {
      const server = await serve({ answer: (step) => (step === 'message' ? { end } : undefined) });
      const error = await failure(sender(SHORT).send('k', at(server), message(), control()));
      expect([error.code, error.phase]).toEqual(['outcome-unknown', 'confirmation']);
    },
  );
});
