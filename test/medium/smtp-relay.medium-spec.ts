import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { compose } from '../../src/formats/mime/compose.ts';
import { SmtpRelay } from '../../src/providers/smtp/smtp.relay.ts';
import {
  ALL_PHASES,
  controlOf,
  failureOf,
  smallMessage,
  SmtpFixture,
} from '../support/smtp-fixture.ts';
import { TEST_CERTIFICATE, TEST_KEY } from '../support/tls-certificate.ts';

const fixture = new SmtpFixture();
const servers: SMTPServer[] = [];
const stopAll = async (): Promise<void> => {
  await fixture.stop();
  for (const server of servers.splice(0))
    await new Promise<void>((resolve) => server.close(resolve));
};

const USER = 'relay';
const PASSWORD = 'relay-password';
const refusal = (responseCode: number, words: string) =>
  Object.assign(new Error(words), { responseCode });

interface Taken {
  from: string;
  to: string[];
  mime: Buffer;
  user: string | undefined;
}

/** A mail server with a login that accepts mail from one domain. */
async function mailServer(options: SMTPServerOptions = {}) {
  const taken: Taken[] = [];
  const seen = { logins: 0, connections: 0 };
  const server = new SMTPServer({
    key: TEST_KEY,
    cert: TEST_CERTIFICATE,
    onConnect(_, done) {
      seen.connections++;
      done();
    },
    onAuth({ username, password, method }, _, done) {
      seen.logins++;
      if (username === USER && password === PASSWORD)
        done(null, { user: `${username} by ${method}` });
      else done(refusal(535, '5.7.8 Username and Password not accepted'));
    },
    onMailFrom({ address }, _, done) {
      if (address.endsWith('@ours.test')) done();
      else done(refusal(553, `5.7.1 ${address} is not one of your senders`));
    },
    onData(stream, { envelope, user }, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const from = envelope.mailFrom ? envelope.mailFrom.address : '';
        const to = envelope.rcptTo.map(({ address }) => address);
        taken.push({ from, to, mime: Buffer.concat(chunks), user });
        done(null, 'taken');
      });
    },
    ...options,
  });
  server.on('error', () => undefined);
  server.listen(0, '127.0.0.1');
  servers.push(server);
  await once(server.server, 'listening');
  return { port: (server.server.address() as AddressInfo).port, taken, seen };
}

const relay = () => new SmtpRelay(fixture.sender({ ca: TEST_CERTIFICATE }));
const settings = (port: number, more: Record<string, unknown> = {}) => ({
  host: 'localhost',
  port,
  security: 'starttls',
  username: USER,
  password: PASSWORD,
  ...more,
});

describe('SmtpRelay, settings', () => {
  afterEach(stopAll);

  const schema = relay().settingsSchema;
  it.each([
    { host: 'smtp.relay.test', port: 587, security: 'starttls', username: 'u', password: 'p' },
    { host: '192.0.2.1', port: 465, security: 'tls' },
    { host: '2001:db8::1', port: 25, security: 'none' },
  ])('accepts %j unchanged', (given) => {
    expect(schema.parse(given)).toEqual(given);
  });

  it.each([
    { port: 587, security: 'tls' },
    { host: '', port: 587, security: 'tls' },
    { host: 'smtp.relay.test/x', port: 587, security: 'tls' },
    { host: 'a b', port: 587, security: 'tls' },
    { host: 'smtp.relay.test.', port: 587, security: 'tls' },
    { host: 'smtp.relay.test', port: 0, security: 'tls' },
    { host: 'smtp.relay.test', port: 65_536, security: 'tls' },
    { host: 'smtp.relay.test', port: '587', security: 'tls' },
    { host: 'smtp.relay.test', port: 587, security: 'ssl' },
    { host: 'smtp.relay.test', port: 587 },
    { host: 'smtp.relay.test', port: 587, security: 'tls', username: 'u' },
    { host: 'smtp.relay.test', port: 587, security: 'tls', password: 'p' },
    { host: 'smtp.relay.test', port: 587, security: 'tls', username: 'u', password: '' },
    { host: 'smtp.relay.test', port: 587, security: 'tls', rejectUnauthorized: false },
  ])('refuses %j', (given) => {
    expect(schema.safeParse(given).success).toBe(false);
  });

  it('name the fields that must never be shown', () => {
    const { kind, secretSettings } = relay();
    expect([kind, secretSettings]).toEqual(['smtp', ['password']]);
  });
});

describe.each(['starttls', 'tls'] as const)('SmtpRelay over %s', (security) => {
  afterEach(stopAll);

  const server = () => mailServer({ secure: security === 'tls' });
  const of = (port: number, more: Record<string, unknown> = {}) =>
    settings(port, { security, ...more });

  it('logs in to verify settings, and reports a refusal', async () => {
    const { port, seen } = await server();
    await relay().verify(of(port));
    const error = await failureOf(relay().verify(of(port, { password: 'another' })));
    expect([error.code, error.message]).toEqual([
      'auth-invalid',
      '535 5.7.8 Username and Password not accepted',
    ]);
    expect(seen.logins).toBe(2);
  });

  it('delivers a composed message line for line, under its login', async () => {
    const { port, taken } = await server();
    const mime = await compose({
      from: { name: 'Käthe', email: 'kaethe@ours.test' },
      to: [{ name: '', email: 'to@there.test' }],
      cc: [],
      bcc: [],
      replyTo: [],
      subject: 'Grüße',
      html: '<p>Köln</p>\n.\n..\n<pre>\n.x</pre>',
      messageIdHeader: '<1@ours.test>',
      date: new Date(0),
    });
    const { control, phases } = controlOf();
    const receipt = await relay().send(
      of(port),
      {
        messageIdHeader: '<1@ours.test>',
        mime,
        envelope: { from: 'kaethe@ours.test', recipients: ['to@there.test'] },
        bcc: [],
      },
      control,
    );
    expect(receipt).toMatchObject({
      accepted: ['to@there.test'],
      refused: [],
      deferred: [],
      response: '250 taken',
    });
    expect(phases).toEqual(ALL_PHASES);
    expect(taken).toMatchObject([
      { from: 'kaethe@ours.test', to: ['to@there.test'], user: 'relay by PLAIN' },
    ]);
    // On the wire every line ends with CRLF (RFC 5321 2.3.8), including the last one.
    const lines = (bytes: Buffer | undefined) => bytes?.toString('latin1').trimEnd().split(/\r?\n/);
    expect(lines(taken[0]?.mime)).toEqual(lines(mime));
    expect(taken[0]?.mime.toString('latin1')).not.toMatch(/[^\r]\n/);
  });

  it('asks whether the service accepts mail from an address, without sending any', async () => {
    const { port, taken, seen } = await server();
    const one = relay();
    expect(await one.senderStatus(of(port), 'me@ours.test')).toEqual({
      domainVerified: false,
      senderVerified: true,
      detail: null,
    });
    const refused = await one.enrol(of(port), { email: 'me@elsewhere.test', name: 'Me' });
    expect(refused).toEqual({
      domainVerified: false,
      senderVerified: false,
      detail: '553 5.7.1 me@elsewhere.test is not one of your senders',
    });
    // The connection that asked about the address can still send a message.
    await one.send(
      of(port),
      smallMessage(undefined, { from: 'me@ours.test' }),
      controlOf().control,
    );
    expect([taken.length, seen.connections]).toEqual([1, 2]);
  });

  it('does not take a failed login or a failing server for an answer about the address', async () => {
    const { port } = await server();
    const error = await failureOf(
      relay().senderStatus(of(port, { password: 'another' }), 'me@ours.test'),
    );
    expect(error.code).toBe('auth-invalid');
    const busy = await mailServer({
      secure: security === 'tls',
      onMailFrom: (_address, _session, done) => done(refusal(451, '4.3.0 not now')),
    });
    expect((await failureOf(relay().senderStatus(of(busy.port), 'me@ours.test'))).code).toBe(
      'temporary',
    );
  });
});

describe('SmtpRelay', () => {
  afterEach(stopAll);

  it('cannot look up what it sent, nor make the service forget an address', async () => {
    const one = relay();
    expect(await one.findSent()).toEqual({ found: false, conclusive: false });
    expect(await one.removeSender()).toBeUndefined();
  });

  it('reports the server’s reasons at each stage', async () => {
    const stages: [SMTPServerOptions, string, string][] = [
      [
        { onConnect: (_, done) => done(refusal(421, '4.3.2 too many connections')) },
        'rate-limited',
        'connect',
      ],
      [
        { onAuth: (_, _session, done) => done(refusal(454, '4.7.0 not now')) },
        'temporary',
        'login',
      ],
      [
        {
          onMailFrom: (_, _session, done) =>
            done(refusal(550, '5.4.5 Daily user sending limit exceeded')),
        },
        'quota-exhausted',
        'envelope',
      ],
      [
        { onRcptTo: (_, _session, done) => done(refusal(550, '5.1.1 nobody')) },
        'rejected',
        'envelope',
      ],
      [
        {
          onData(stream, _, done) {
            stream.on('end', () => done(refusal(552, '5.3.4 too big')));
            stream.resume();
          },
        },
        'rejected',
        'confirmation',
      ],
    ];
    for (const [options, code, phase] of stages) {
      const { port } = await mailServer(options);
      const message = smallMessage(undefined, { from: 'me@ours.test' });
      const error = await failureOf(relay().send(settings(port), message, controlOf().control));
      expect([error.code, error.phase]).toEqual([code, phase]);
    }
  });

  it('sends many messages at once, each only once', async () => {
    const { port, taken } = await mailServer();
    const one = relay();
    const messages = Array.from({ length: 60 }, () =>
      smallMessage(undefined, { from: 'me@ours.test' }),
    );
    const queue = [...messages];
    const worker = async () => {
      for (let next = queue.pop(); next; next = queue.pop())
        await one.send(settings(port), next, controlOf().control);
    };
    await Promise.all(Array.from({ length: 10 }, worker));
    const mimes = taken.map(({ mime }) => mime.toString()).sort();
    expect(mimes).toEqual(messages.map(({ mime }) => mime.toString()).sort());
  });
});
