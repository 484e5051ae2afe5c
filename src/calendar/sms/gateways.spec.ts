import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { EgressClient } from '../../platform/egress/egress-client.ts';
import { EgressPolicy } from '../../platform/egress/egress-policy.ts';
import { SystemClock } from '../../platform/base/time/clock.ts';
import { ConfigError, loadConfig } from '../../platform/config/app-config.ts';
import { filled, HttpSmsGateway } from './http.gateway.ts';
import { SmsError, type SmsGateway } from './sms-gateway.ts';
import { failureOfTwilio } from './twilio-errors.ts';
import { TwilioSmsGateway } from './twilio.gateway.ts';

const TEXT = {
  accountId: 'a',
  to: '+15550100',
  text: 'Say "hi"\n{to} {key}',
  dedupe: 'reminder:1:2',
};
const TWILIO = {
  gateway: 'twilio',
  accountSid: 'AC1',
  username: 'SK1',
  password: 'very-secret',
  sender: '+15005550006',
} as const;
const { signal } = new AbortController();

describe('SMS gateways', () => {
  let server: Server;
  let url: string;
  let egress: EgressClient;
  const requests: { request: IncomingMessage; body: string }[] = [];
  let answer: { status: number; body?: string; headers?: Record<string, string> };
  beforeAll(async () => {
    server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        requests.push({ request, body: Buffer.concat(chunks).toString() });
        if (answer.status === 0) request.socket.destroy();
        else response.writeHead(answer.status, answer.headers).end(answer.body);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    egress = new EgressClient(new EgressPolicy(['127.0.0.1/32']));
  });
  beforeEach(() => {
    requests.length = 0;
    answer = { status: 201, body: '{"status":"queued"}' };
  });
  afterAll(async () => {
    await egress.onApplicationShutdown();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  const failureOf = async (gateway: SmsGateway): Promise<SmsError> => {
    const error: unknown = await gateway.send(TEXT, signal).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    if (!(error instanceof SmsError)) throw new Error(`no SmsError: ${String(error)}`);
    return error;
  };

  describe('generic HTTP gateways', () => {
    const gateway = (config: object = {}) =>
      new HttpSmsGateway(
        {
          gateway: 'http',
          url: `${url}/texts`,
          method: 'POST',
          headers: { 'x-api-key': 'very-secret' },
          template: {
            sms: [{ recipient: '{to}', content: '[{text}]' }],
            ref: '{key}',
            flash: false,
          },
          ...config,
        },
        egress,
        new SystemClock(),
      );

    it('receive the text in their own format, with the configured headers and the dedupe key', async () => {
      await gateway().send(TEXT, signal);
      const [{ request, body } = { request: undefined, body: '' }] = requests;
      expect(request).toMatchObject({ method: 'POST', url: '/texts' });
      expect(request?.headers).toMatchObject({
        'content-type': 'application/json',
        'x-api-key': 'very-secret',
        'idempotency-key': 'reminder:1:2',
      });
      expect(JSON.parse(body)).toEqual({
        // A placeholder within the text is not replaced.
        sms: [{ recipient: '+15550100', content: `[${TEXT.text}]` }],
        ref: 'reminder:1:2',
        flash: false,
      });
    });

    it.each([
      [422, 'refused'],
      [400, 'refused'],
      [401, 'not-yet'],
      [404, 'not-yet'],
      [409, 'not-yet'],
      [302, 'not-yet'],
      [500, 'not-yet'],
      [0, 'not-yet'],
    ])('have not taken the text if they answer %i: %s', async (status, failure) => {
      answer = { status, body: 'very-secret' };
      const error = await failureOf(gateway());
      expect(error).toMatchObject({ failure });
      expect(error.message).not.toContain('very-secret');
    });

    it('are retried no earlier than they request', async () => {
      answer = { status: 429, headers: { 'retry-after': '90' } };
      expect(await failureOf(gateway())).toMatchObject({
        failure: 'not-yet',
        retryAfterSeconds: 90,
      });
    });

    it('at a private address are not called unless the operator allows it', async () => {
      const guarded = new EgressClient(new EgressPolicy([]));
      const config = {
        gateway: 'http',
        url,
        method: 'POST',
        headers: {},
        template: '{to}{text}',
      } as const;
      const error = await failureOf(new HttpSmsGateway(config, guarded, new SystemClock()));
      expect(error.failure).toBe('not-yet');
      expect(requests).toEqual([]);
      await guarded.onApplicationShutdown();
    });

    it('get placeholders replaced in strings only, at any depth', () => {
      const values = { to: '+1', text: 'x', key: 'k' };
      expect(filled(['{to}{to}', { '{to}': [1, null, '{nothing} {text}'] }], values)).toEqual([
        '+1+1',
        { '{to}': [1, null, '{nothing} x'] },
      ]);
    });
  });

  describe('Twilio gateway', () => {
    const gateway = (sender: string = TWILIO.sender) =>
      new TwilioSmsGateway({ ...TWILIO, url, sender }, egress, new SystemClock());

    it('receives a form, authenticated with the API key', async () => {
      await gateway().send(TEXT, signal);
      await gateway('MG1').send(TEXT, signal);
      const [first, second] = requests;
      expect(first?.request).toMatchObject({
        method: 'POST',
        url: '/2010-04-01/Accounts/AC1/Messages.json',
      });
      expect(first?.request.headers.authorization).toBe(`Basic ${btoa('SK1:very-secret')}`);
      expect([...new URLSearchParams(first?.body)]).toEqual([
        ['To', TEXT.to],
        ['Body', TEXT.text],
        ['From', TWILIO.sender],
      ]);
      expect(new URLSearchParams(second?.body).get('MessagingServiceSid')).toBe('MG1');
      expect(new URLSearchParams(second?.body).has('From')).toBe(false);
    });

    it.each([
      [400, 21201, 'refused'],
      [400, 21211, 'refused'],
      [400, 21408, 'refused'],
      [400, 21610, 'refused'],
      [400, 21614, 'refused'],
      [400, 21617, 'refused'],
      [400, 29999, 'refused'],
      [400, 21606, 'not-yet'],
      [429, 21611, 'not-yet'],
      [401, 20003, 'not-yet'],
      [429, 20429, 'not-yet'],
      [429, null, 'not-yet'],
      [400, 63038, 'not-yet'],
      [404, 20404, 'not-yet'],
      [500, 20500, 'unknown'],
      [502, null, 'unknown'],
      [503, 20503, 'not-yet'],
    ] as const)('treats status %i with code %s as %s', async (status, code, failure) => {
      expect(failureOfTwilio(status, code)).toBe(failure);
      answer = {
        status,
        body: code === null ? '<html>' : JSON.stringify({ code, message: 'very-secret' }),
      };
      const error = await failureOf(gateway());
      expect(error.failure).toBe(failure);
      expect(error.message).not.toContain('very-secret');
    });

    it('may have taken a text if the response was lost, but not if the connection failed', async () => {
      answer = { status: 0 };
      expect(await failureOf(gateway())).toMatchObject({ failure: 'unknown' });
      const unreachable = new TwilioSmsGateway(
        { ...TWILIO, url: 'http://127.0.0.1:9' },
        egress,
        new SystemClock(),
      );
      expect(await failureOf(unreachable)).toMatchObject({ failure: 'not-yet' });
    });

    it('reports a text as sent only if text and number match and it is not older than the reminder', async () => {
      const since = new Date('2026-03-01T12:00:00Z');
      const found = async (message: object) => {
        const entry = {
          body: TEXT.text,
          status: 'sent',
          date_created: 'Sun, 01 Mar 2026 12:00:05 +0000',
          ...message,
        };
        answer = { status: 200, body: JSON.stringify({ messages: [entry] }) };
        return gateway().wasSent(TEXT, since, signal);
      };
      expect(await found({})).toBe(true);
      expect(await found({ body: `Sent from your Twilio trial account - ${TEXT.text}` })).toBe(
        true,
      );
      expect(await found({ body: 'Another' })).toBe(false);
      expect(await found({ status: 'failed' })).toBe(false);
      expect(await found({ date_created: 'Sun, 01 Mar 2026 11:00:00 +0000' })).toBe(false);
      expect(new URL(requests[0]?.request.url ?? '', url).searchParams.get('To')).toBe(TEXT.to);
      answer = { status: 200, body: 'no JSON' };
      await expect(gateway().wasSent(TEXT, since, signal)).rejects.toMatchObject({
        failure: 'unknown',
      });
    });
  });

  describe('configured by environment variables', () => {
    const problemsOf = (environment: Record<string, string>): readonly string[] => {
      try {
        loadConfig({
          DATABASE_URL: 'postgres://localhost/x',
          ENCRYPTION_KEYS: `k:${Buffer.alloc(32).toString('base64')}`,
          ...environment,
        });
        return [];
      } catch (error) {
        return (error as ConfigError).problems;
      }
    };

    it('require all variables of the chosen gateway', () => {
      expect(problemsOf({ SMS_GATEWAY: 'twilio', TWILIO_FROM: '+1' })).toEqual([
        'TWILIO_ACCOUNT_SID: is required by SMS_GATEWAY=twilio',
        'TWILIO_AUTH_TOKEN: is required by SMS_GATEWAY=twilio',
      ]);
      expect(problemsOf({ SMS_GATEWAY: 'http' })).toEqual([
        'SMS_HTTP_URL: is required by SMS_GATEWAY=http',
      ]);
      expect(problemsOf({ SMS_GATEWAY: 'http', SMS_HTTP_URL: 'https://sms.test/send' })).toEqual(
        [],
      );
    });

    it.each([
      [{ SMS_GATEWAY: 'pigeon' }, 'SMS_GATEWAY'],
      [{ SMS_HTTP_URL: 'https://a:very-secret@sms.test' }, 'SMS_HTTP_URL'],
      [{ SMS_HTTP_HEADERS: 'very-secret' }, 'SMS_HTTP_HEADERS'],
      [{ SMS_HTTP_HEADERS: '{"x":"very-secret\\n"}' }, 'SMS_HTTP_HEADERS'],
      [{ SMS_HTTP_HEADERS: '{"Host":"very-secret"}' }, 'SMS_HTTP_HEADERS'],
      [{ SMS_HTTP_BODY: '{"to":"{to}"}' }, 'SMS_HTTP_BODY'],
      [{ TWILIO_ACCOUNT_SID: 'AC1/../very-secret' }, 'TWILIO_ACCOUNT_SID'],
    ] as [Record<string, string>, string][])('refuse an invalid value: %j', (environment, name) => {
      const [problem, ...others] = problemsOf(environment);
      expect(problem).toMatch(new RegExp(`^${name}: `));
      expect(others).toEqual([]);
      expect(problem).not.toContain('very-secret');
    });
  });
});
