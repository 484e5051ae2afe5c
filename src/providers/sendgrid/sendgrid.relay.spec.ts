import { WorkThreads } from '../../common/threads/work-threads.ts';
import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { EgressClient } from '../../common/egress/egress-client.ts';
import { EgressPolicy } from '../../common/egress/egress-policy.ts';
import { compose } from '../../send/compose.ts';
import { codeOf, sendControl } from '../../../test/support/connector-contract.ts';
import { NO_CREDITS, NOT_VERIFIED, SendGridServer } from '../../../test/support/sendgrid-server.ts';
import { TestClock } from '../../../test/support/test-clock.ts';
import type { OutgoingMessage } from '../connector.ts';
import { ProviderError } from '../provider-error.ts';
import { SenderRefusedError } from '../relay.ts';
import { SendGridRelay } from './sendgrid.relay.ts';

const ada = { email: 'ada@example.test', name: 'Ada' };

describe('SendGridRelay', () => {
  const clock = new TestClock();
  let service: SendGridServer;
  let egress: EgressClient;
  let relay: SendGridRelay;
  /** For services that never answer. */
  let impatient: SendGridRelay;
  let settings: Record<string, unknown>;

  const threads = new WorkThreads();

  beforeAll(async () => {
    service = await SendGridServer.start();
    egress = new EgressClient(new EgressPolicy(['127.0.0.0/8']));
    relay = new SendGridRelay(egress, clock, threads);
    impatient = new SendGridRelay(egress, clock, threads, { sendMs: 3000, askMs: 300 });
  });
  afterAll(async () => {
    await egress.onApplicationShutdown();
    await service.stop();
    await threads.close();
  });
  beforeEach(() => {
    service.reset();
    service.domains.push({ domain: 'example.test', valid: true });
    settings = { api_key: service.key, base_url: service.origin };
  });

  const message = async (
    recipients: string[],
    change: Partial<Parameters<typeof compose>[0]> = {},
  ): Promise<OutgoingMessage> => {
    const messageIdHeader = '<m1@carillon.test>';
    const mime = await compose({
      from: ada,
      to: recipients.map((email) => ({ email, name: '' })),
      cc: [],
      bcc: [],
      replyTo: [],
      subject: 'Hello',
      html: '<p>Hello</p>',
      messageIdHeader,
      date: new Date(),
      ...change,
    });
    return { messageIdHeader, mime, envelope: { from: ada.email, recipients }, bcc: [] };
  };
  const big = async (megabytes: number): Promise<OutgoingMessage> => {
    const text = `${'x'.repeat(1022)}\r\n`.repeat(megabytes * 1024);
    const mime = Buffer.from(`From: <${ada.email}>\r\nTo: <bo@x.test>\r\nSubject: Big\r\n\r\n${text}`);
    return { ...(await message(['bo@x.test'])), mime };
  };
  const fail = async (work: Promise<unknown>): Promise<ProviderError> => {
    const error: unknown = await work.then(
      () => new Error('it succeeded'),
      (reason: unknown) => reason,
    );
    if (!(error instanceof ProviderError)) throw error;
    return error;
  };

  describe('settings', () => {
    const parse = (value: unknown) => relay.settingsSchema.safeParse(value);

    it("goes to SendGrid's own address by default", () => {
      const strict = new SendGridRelay(new EgressClient(new EgressPolicy([])), clock, threads);
      expect(strict.settingsSchema.parse({ api_key: 'SG.x' })).toEqual({
        api_key: 'SG.x',
        base_url: 'https://api.sendgrid.com',
      });
    });

    it.each([
      'http://api.sendgrid.com',
      'https://169.254.169.254/latest',
      'https://[fd00::1]',
      'https://10.0.0.1',
      'https://localhost',
      'https://u:p@api.sendgrid.com',
      'ftp://api.sendgrid.com',
      'nonsense',
      'https://api.sendgrid.com/?x=1',
    ])('does not go to %s', (base_url) => {
      const strict = new SendGridRelay(new EgressClient(new EgressPolicy([])), clock, threads);
      const parsed = strict.settingsSchema.safeParse({ api_key: 'SG.x', base_url });
      expect(parsed.error?.issues.map(({ path }) => path)).toEqual([['base_url']]);
    });

    it.each([
      [{}, 'api_key'],
      [{ api_key: '' }, 'api_key'],
      [{ api_key: 'a b' }, 'api_key'],
      [{ api_key: 'a\r\nx: y' }, 'api_key'],
      [{ api_key: 'x'.repeat(501) }, 'api_key'],
      [{ api_key: 'x', base_url: 7 }, 'base_url'],
      [{ api_key: 'x', sender_address: { city: 'Graz' } }, 'sender_address'],
    ])('names what is wrong with %j', (value, field) => {
      expect(parse(value).error?.issues[0]?.path[0]).toBe(field);
    });

    it('refuses settings it does not know', () => {
      expect(parse({ api_key: 'x', apikey: 'y' }).success).toBe(false);
    });
  });

  describe('verify', () => {
    it('accepts a key that may send, and refuses others as auth-invalid', async () => {
      await relay.verify(settings);
      service.scopes = ['user.profile.read'];
      expect((await fail(relay.verify(settings))).message).toContain('mail.send');
      expect(await codeOf(relay.verify({ ...settings, api_key: 'SG.wrong' }))).toBe('auth-invalid');
    });

    it('tells silence as temporary', async () => {
      service.fail('/v3/scopes', () => undefined);
      expect(await codeOf(impatient.verify(settings))).toBe('temporary');
    });

    it.each<[string, (status: SendGridServer) => void]>([
      ['a broken connection', (one) => one.fail('/v3/scopes', (_, __, socket) => socket.destroy())],
      ['a redirect', (one) => one.answer('/v3/scopes', 302, {}, { location: 'http://169.254.169.254/' })],
      ['something that is no JSON', (one) => one.fail('/v3/scopes', (response) => response.end('<html>'))],
      ['other JSON', (one) => one.answer('/v3/scopes', 200, { scopes: 'all' })],
      ['an endless answer', (one) => one.fail('/v3/scopes', (response) => response.end('x'.repeat(3e6)))],
      ['500', (one) => one.answer('/v3/scopes', 500)],
    ])('tells %s as temporary', async (_, behave) => {
      behave(service);
      expect(await codeOf(relay.verify(settings))).toBe('temporary');
    });
  });

  describe('send', () => {
    it('sends the message as it is, with its Message-ID, and tells the phases', async () => {
      const control = sendControl();
      const outgoing = await message(['bo@elsewhere.test'], {
        to: [{ email: 'bo@elsewhere.test', name: 'Bo, the; "first"' }],
        replyTo: [{ email: 'desk@example.test', name: 'Desk' }],
        subject: 'Grüße',
        html: '<p>Grüße</p>',
        inReplyTo: '<parent@x.test>',
        references: ['<root@x.test>', '<parent@x.test>'],
        headers: { 'X-Campaign': 'one' },
      });
      const receipt = await relay.send(settings, outgoing, control);
      expect(receipt).toEqual({
        accepted: ['bo@elsewhere.test'],
        refused: [],
        deferred: [],
        response: '202 accepted, X-Message-Id sg1',
      });
      expect(control.phases).toEqual(['connect', 'content', 'confirmation']);
      expect(service.mails[0]).toMatchObject({
        personalizations: [{ to: [{ email: 'bo@elsewhere.test', name: '"Bo, the; first"' }] }],
        from: ada,
        reply_to: { email: 'desk@example.test', name: 'Desk' },
        subject: 'Grüße',
        custom_args: { carillon_message_id: '<m1@carillon.test>' },
        headers: {
          'Message-ID': '<m1@carillon.test>',
          'In-Reply-To': '<parent@x.test>',
          References: '<root@x.test> <parent@x.test>',
          'X-Campaign': 'one',
        },
      });
      expect(service.mails[0]?.content).toEqual([
        { type: 'text/html', value: expect.stringContaining('<p>Grüße</p>') },
      ]);
      expect(service.mails[0]).toMatchObject({ tracking_settings: { click_tracking: { enable: false } } });
    });

    it('shows To and Cc to all, and Bcc to nobody', async () => {
      const recipients = ['a@x.test', 'b@x.test', 'c@x.test', 'hidden@x.test'];
      const outgoing = await message(recipients, {
        to: [
          { email: 'A@x.test', name: 'A' },
          { email: 'b@x.test', name: '' },
        ],
        cc: [
          { email: 'c@x.test', name: '' },
          { email: 'a@x.test', name: '' },
        ],
      });
      await relay.send(settings, outgoing, sendControl());
      expect(service.mails[0]?.personalizations).toEqual([
        {
          to: [{ email: 'A@x.test', name: 'A' }, { email: 'b@x.test' }],
          cc: [{ email: 'c@x.test' }],
          bcc: [{ email: 'hidden@x.test' }],
        },
      ]);
    });

    it.each([
      ['to the rest', ['b@x.test', 'd@x.test'], [{ to: ['b@x.test'], cc: ['d@x.test'] }]],
      ['to a Cc alone', ['d@x.test', 'h1@x.test'], [{ to: ['d@x.test'], bcc: ['h1@x.test'] }]],
      [
        'to Bcc alone, each for himself',
        ['h1@x.test', 'h2@x.test'],
        [{ to: ['h1@x.test'] }, { to: ['h2@x.test'] }],
      ],
    ])('goes only %s', async (_, recipients, expected) => {
      const outgoing = await message(recipients, {
        to: [
          { email: 'a@x.test', name: '' },
          { email: 'b@x.test', name: '' },
        ],
        cc: [
          { email: 'c@x.test', name: '' },
          { email: 'd@x.test', name: '' },
        ],
      });
      await relay.send(settings, outgoing, sendControl());
      const emails = (list?: { email: string }[]) => list?.map(({ email }) => email);
      expect(
        service.mails[0]?.personalizations.map(({ to, cc, bcc }) => ({
          to: emails(to),
          cc: emails(cc),
          bcc: emails(bcc),
        })),
      ).toEqual(expected.map((one) => ({ cc: undefined, bcc: undefined, ...one })));
    });

    it('sends to a thousand at once, the others later', async () => {
      const recipients = Array.from({ length: 1003 }, (_, index) => `r${index}@x.test`);
      const receipt = await relay.send(settings, await message(recipients), sendControl());
      expect(receipt.accepted).toHaveLength(1000);
      expect(receipt.deferred.map(({ email }) => email)).toEqual([
        'r1000@x.test',
        'r1001@x.test',
        'r1002@x.test',
      ]);
    });

    it('carries text, attachments and images in the text', async () => {
      const mime = [
        'From: Ada <ada@example.test>', 'To: bo@x.test', 'Subject: Files', 'MIME-Version: 1.0',
        'Content-Type: multipart/mixed; boundary=m', '',
        '--m', 'Content-Type: multipart/related; boundary=r', '',
        '--r', 'Content-Type: multipart/alternative; boundary=a', '',
        '--a', 'Content-Type: text/plain; charset=utf-8', '', 'Plain', '',
        '--a', 'Content-Type: text/html; charset=utf-8', '', '<img src="cid:logo">', '', '--a--',
        '--r', 'Content-Type: image/png', 'Content-ID: <logo>', 'Content-Disposition: inline; filename=logo.png',
        'Content-Transfer-Encoding: base64', '', 'iVBORw==', '', '--r--',
        '--m', 'Content-Type: application/pdf; name="a b.pdf"', 'Content-Disposition: attachment; filename="a b.pdf"',
        'Content-Transfer-Encoding: base64', '', 'JVBERg==', '', '--m--', '',
      ].join('\r\n'); // prettier-ignore
      const outgoing = { ...(await message(['bo@x.test'])), mime: Buffer.from(mime) };
      await relay.send(settings, outgoing, sendControl());
      expect(service.mails[0]?.content).toEqual([
        { type: 'text/plain', value: expect.stringMatching(/^Plain\s*$/) },
        { type: 'text/html', value: expect.stringContaining('<img src="cid:logo">') },
      ]);
      expect(service.mails[0]?.attachments).toEqual([
        {
          content: 'iVBORw==',
          type: 'image/png',
          filename: 'logo.png',
          disposition: 'inline',
          content_id: 'logo',
        },
        { content: 'JVBERg==', type: 'application/pdf', filename: 'a b.pdf', disposition: 'attachment' },
      ]);
    });

    it('sends messages without a subject or a text', async () => {
      await relay.send(settings, await message(['bo@x.test'], { subject: '', html: '' }), sendControl());
      expect(service.mails[0]).toMatchObject({ subject: '(no subject)' });
    });

    it.each<[number, object, Record<string, string>, string, number | null]>([
      [400, { errors: [{ message: 'Does not contain a valid address.' }] }, {}, 'rejected', null],
      [401, { errors: [{ message: 'revoked' }] }, {}, 'auth-invalid', null],
      [401, { errors: [{ message: NO_CREDITS }] }, {}, 'quota-exhausted', null],
      [403, { errors: [{ message: 'access forbidden' }] }, {}, 'auth-invalid', null],
      [413, {}, {}, 'rejected', null],
      [429, {}, { 'retry-after': '7' }, 'rate-limited', 7],
      [500, {}, {}, 'temporary', null],
      [503, {}, {}, 'temporary', null],
      [502, {}, {}, 'outcome-unknown', null],
      [504, {}, {}, 'outcome-unknown', null],
      [302, {}, { location: 'http://169.254.169.254/' }, 'temporary', null],
      [404, {}, {}, 'temporary', null],
      [200, {}, {}, 'temporary', null],
    ])('tells %s %j as what it means', async (status, body, headers, code, wait) => {
      service.answer('/v3/mail/send', status, body, headers);
      const error = await fail(relay.send(settings, await message(['bo@x.test']), sendControl()));
      expect([error.code, error.retryAfterSeconds]).toEqual([code, wait]);
      expect(error.message).toContain(String(status));
    });

    it('waits as long as the rate limit says', async () => {
      const reset = Math.ceil(clock.now().getTime() / 1000) + 30;
      service.answer('/v3/mail/send', 429, {}, { 'x-ratelimit-reset': String(reset) });
      const error = await fail(relay.send(settings, await message(['bo@x.test']), sendControl()));
      expect(error.retryAfterSeconds).toBeGreaterThanOrEqual(30);
      expect(error.retryAfterSeconds).toBeLessThanOrEqual(31);
    });

    it('tells a sender it does not take apart from a key it does not take', async () => {
      service.domains = [];
      const error = await fail(relay.send(settings, await message(['bo@x.test']), sendControl()));
      expect(error).toBeInstanceOf(SenderRefusedError);
      expect(error).toMatchObject({ code: 'temporary', message: `403 ${NOT_VERIFIED}` });
    });

    it('does not know the outcome when no answer comes to what it has sent', async () => {
      service.fail('/v3/mail/send', (_, __, socket) => socket.destroy());
      const cut = await fail(relay.send(settings, await message(['bo@x.test']), sendControl()));
      expect([cut.code, cut.phase]).toEqual(['outcome-unknown', 'confirmation']);
      service.fail('/v3/mail/send', () => undefined);
      expect(await codeOf(impatient.send(settings, await message(['bo@x.test']), sendControl()))).toBe(
        'outcome-unknown',
      );
    });

    it('knows that nothing was sent when the connection breaks before the end of the content', async () => {
      const seen: number[] = [];
      const server = net.createServer((socket) => {
        socket.on('error', () => undefined);
        socket.once('data', (data) => {
          seen.push(data.length);
          socket.pause();
          setImmediate(() => socket.resetAndDestroy());
        });
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const control = sendControl();
      const large = await big(9);
      const error = await fail(relay.send({ ...settings, base_url }, large, control));
      expect([error.code, control.phases]).toEqual(['temporary', ['connect', 'content']]);
      expect(seen).toHaveLength(1);
      server.close();
      await once(server, 'close');
      expect(await codeOf(relay.send({ ...settings, base_url }, large, sendControl()))).toBe('temporary');
    });

    it('refuses what is too large without sending it', async () => {
      const large = await big(31);
      expect(await codeOf(relay.send(settings, large, sendControl()))).toBe('rejected');
      expect(service.asked).toEqual([]);
    });

    it('sends nothing once the caller has given up', async () => {
      const control = sendControl(AbortSignal.abort());
      expect(await codeOf(relay.send(settings, await message(['bo@x.test']), control))).toBe('temporary');
      expect(service.asked).toEqual([]);
    });

    it.each(['connect', 'content', 'confirmation'])(
      'lets the refusal of the phase %s through as it is',
      async (refused) => {
        const refusal = new Error('the claim is lost');
        const control = {
          signal: new AbortController().signal,
          onPhase(phase: string) {
            if (phase === refused) throw refusal;
          },
        };
        await expect(relay.send(settings, await message(['bo@x.test']), control)).rejects.toBe(refusal);
        expect(service.mails).toEqual([]);
        expect(service.asked).toEqual([]);
      },
    );
  });

  describe('findSent', () => {
    it('finds by the Email Activity, which proves nothing by what it does not show', async () => {
      const { messageIdHeader } = await message([]);
      expect(await relay.findSent(settings, messageIdHeader)).toEqual({ found: false, conclusive: false });
      service.hasActivity = true;
      expect(await relay.findSent(settings, messageIdHeader)).toEqual({ found: false, conclusive: false });
      await relay.send(settings, await message(['bo@x.test']), sendControl());
      expect(await relay.findSent(settings, messageIdHeader)).toEqual({ found: true, conclusive: true });
      expect((await relay.findSent(settings, '<other@carillon.test>')).found).toBe(false);
      expect((await relay.findSent(settings, `<a"@x>`)).found).toBe(false);
    });

    it('says when it could not ask', async () => {
      service.answer('/v3/messages', 500);
      expect(await codeOf(relay.findSent(settings, '<m1@carillon.test>'))).toBe('temporary');
    });
  });

  describe('senders', () => {
    beforeEach(() => {
      service.domains = [];
    });
    const posted = () => service.asked.filter(({ method }) => method === 'POST');

    it('is confirmed by its domain, and nobody is mailed', async () => {
      service.domains.push({ domain: 'example.test', valid: true });
      const status = { domainVerified: true, senderVerified: false, detail: null };
      expect(await relay.enrol(settings, ada)).toEqual(status);
      expect(await relay.senderStatus(settings, 'ada@EXAMPLE.test')).toMatchObject({ domainVerified: true });
      expect(posted()).toEqual([]);
    });

    it.each([
      { domain: 'example.test', valid: false },
      { domain: 'sub.example.test', valid: true },
    ])('is not confirmed by the domain %j', async (domain) => {
      service.domains.push(domain);
      expect(await relay.senderStatus(settings, ada.email)).toMatchObject({ domainVerified: false });
    });

    it('has a link mailed once, and is confirmed when it was followed', async () => {
      const waiting = await relay.enrol(settings, ada);
      expect(waiting).toMatchObject({ senderVerified: false, detail: expect.stringContaining('link') });
      expect(await relay.enrol(settings, ada)).toEqual(waiting);
      expect(posted()).toHaveLength(1);
      expect(service.senders[0]).toMatchObject({
        nickname: ada.email,
        from_email: ada.email,
        from_name: 'Ada',
        reply_to: ada.email,
      });
      service.follow(ada.email);
      const verified = { domainVerified: false, senderVerified: true, detail: null };
      expect(await relay.enrol(settings, ada)).toEqual(verified);
      expect(await relay.senderStatus(settings, 'ADA@example.test')).toEqual(verified);
    });

    it('tells its postal address when there is one', async () => {
      const sender_address = { address: 'Ring 1', city: 'Graz', country: 'Austria' };
      await relay.enrol({ ...settings, sender_address }, ada);
      expect(service.senders[0]).toMatchObject(sender_address);
    });

    it('asks without enrolling', async () => {
      expect(await relay.senderStatus(settings, ada.email)).toMatchObject({ senderVerified: false });
      expect(posted()).toEqual([]);
    });

    it('looks through all pages of senders', async () => {
      service.senders = Array.from({ length: 250 }, (_, index) => ({
        id: index + 1,
        from_email: `s${index}@example.test`,
        verified: index === 249,
      }));
      expect(await relay.senderStatus(settings, 's249@example.test')).toMatchObject({ senderVerified: true });
      expect(await relay.senderStatus(settings, 's250@example.test')).toMatchObject({
        senderVerified: false,
      });
      expect(service.asked.length).toBeLessThan(12);
    });

    it('removes a sender; one it does not know is no error', async () => {
      await relay.enrol(settings, ada);
      await relay.removeSender(settings, 'ADA@example.test');
      expect(service.senders).toEqual([]);
      await relay.removeSender(settings, ada.email);
    });

    it('says what the key may not do, and what the service does not want', async () => {
      for (let round = 0; round < 2; round += 1) {
        service.answer('/v3/verified_senders', 403);
        service.answer('/v3/whitelabel/domains', 403);
      }
      expect(await relay.senderStatus(settings, ada.email)).toEqual({
        domainVerified: false,
        senderVerified: false,
        detail: 'the API key may not read the verified senders',
      });
      service.faults.length = 0;
      service.answer('/v3/whitelabel/domains', 200, []);
      service.answer('/v3/verified_senders', 200, { results: [] });
      service.answer('/v3/verified_senders', 400, {
        errors: [{ message: 'address is required', field: 'address' }],
      });
      expect((await relay.enrol(settings, ada)).detail).toContain('address is required');
    });

    it('refuses a wrong key as auth-invalid everywhere', async () => {
      const wrong = { ...settings, api_key: 'SG.wrong' };
      const codes = await Promise.all([
        codeOf(relay.enrol(wrong, ada)),
        codeOf(relay.senderStatus(wrong, ada.email)),
        codeOf(relay.removeSender(wrong, ada.email)),
        codeOf(relay.send(wrong, await message(['bo@x.test']), sendControl())),
      ]);
      expect(new Set(codes)).toEqual(new Set(['auth-invalid']));
    });
  });
});
