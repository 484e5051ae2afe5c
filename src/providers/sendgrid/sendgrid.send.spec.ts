import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { codeOf, sendControl } from '../../../test/support/connector-contract.ts';
import {
  ADA,
  failureOf,
  relayMessage,
  useSendGrid,
} from '../../../test/support/sendgrid-relay-fixture.ts';
import { NO_CREDITS, NOT_VERIFIED } from '../../../test/support/sendgrid-server.ts';
import type { OutgoingMessage } from '../port/connector.ts';
import { SenderRefusedError } from '../port/mail/relay.ts';

describe('SendGridRelay.send', () => {
  const sendgrid = useSendGrid();
  const { relay, impatient, clock } = sendgrid;
  const big = async (megabytes: number): Promise<OutgoingMessage> => {
    const text = `${'x'.repeat(1022)}\r\n`.repeat(megabytes * 1024);
    const mime = Buffer.from(
      `From: <${ADA.email}>\r\nTo: <bo@x.test>\r\nSubject: Big\r\n\r\n${text}`,
    );
    return { ...(await relayMessage(['bo@x.test'])), mime };
  };

  it('sends the message unchanged, with its Message-ID, and announces the phases', async () => {
    const control = sendControl();
    const outgoing = await relayMessage(['bo@elsewhere.test'], {
      to: [{ email: 'bo@elsewhere.test', name: 'Bo, the; "first"' }],
      replyTo: [{ email: 'desk@example.test', name: 'Desk' }],
      subject: 'Grüße',
      html: '<p>Grüße</p>',
      inReplyTo: '<parent@x.test>',
      references: ['<root@x.test>', '<parent@x.test>'],
      headers: { 'X-Campaign': 'one' },
    });
    const receipt = await relay.send(sendgrid.settings, outgoing, control);
    expect(receipt).toEqual({
      accepted: ['bo@elsewhere.test'],
      refused: [],
      deferred: [],
      response: '202 accepted, X-Message-Id sg1',
    });
    expect(control.phases).toEqual(['connect', 'content', 'confirmation']);
    expect(sendgrid.service.mails[0]).toMatchObject({
      personalizations: [{ to: [{ email: 'bo@elsewhere.test', name: '"Bo, the; first"' }] }],
      from: ADA,
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
    expect(sendgrid.service.mails[0]?.content).toEqual([
      { type: 'text/html', value: expect.stringContaining('<p>Grüße</p>') },
    ]);
    expect(sendgrid.service.mails[0]).toMatchObject({
      tracking_settings: { click_tracking: { enable: false } },
    });
  });

  it('shows To and Cc to all recipients and hides Bcc', async () => {
    const recipients = ['a@x.test', 'b@x.test', 'c@x.test', 'hidden@x.test'];
    const outgoing = await relayMessage(recipients, {
      to: [
        { email: 'A@x.test', name: 'A' },
        { email: 'b@x.test', name: '' },
      ],
      cc: [
        { email: 'c@x.test', name: '' },
        { email: 'a@x.test', name: '' },
      ],
    });
    await relay.send(sendgrid.settings, outgoing, sendControl());
    expect(sendgrid.service.mails[0]?.personalizations).toEqual([
      {
        to: [{ email: 'A@x.test', name: 'A' }, { email: 'b@x.test' }],
        cc: [{ email: 'c@x.test' }],
        bcc: [{ email: 'hidden@x.test' }],
      },
    ]);
  });

  it.each([
    [
      'the remaining recipients',
      ['b@x.test', 'd@x.test'],
      [{ to: ['b@x.test'], cc: ['d@x.test'] }],
    ],
    [
      'a single Cc recipient',
      ['d@x.test', 'h1@x.test'],
      [{ to: ['d@x.test'], bcc: ['h1@x.test'] }],
    ],
    [
      'Bcc recipients, with a separate copy for each',
      ['h1@x.test', 'h2@x.test'],
      [{ to: ['h1@x.test'] }, { to: ['h2@x.test'] }],
    ],
  ])('sends only to %s', async (_, recipients, expected) => {
    const outgoing = await relayMessage(recipients, {
      to: [
        { email: 'a@x.test', name: '' },
        { email: 'b@x.test', name: '' },
      ],
      cc: [
        { email: 'c@x.test', name: '' },
        { email: 'd@x.test', name: '' },
      ],
    });
    await relay.send(sendgrid.settings, outgoing, sendControl());
    const emails = (list?: { email: string }[]) => list?.map(({ email }) => email);
    expect(
      sendgrid.service.mails[0]?.personalizations.map(({ to, cc, bcc }) => ({
        to: emails(to),
        cc: emails(cc),
        bcc: emails(bcc),
      })),
    ).toEqual(expected.map((one) => ({ cc: undefined, bcc: undefined, ...one })));
  });

  it('sends to a thousand recipients at once and defers the others', async () => {
    const recipients = Array.from({ length: 1003 }, (_, index) => `r${index}@x.test`);
    const receipt = await relay.send(
      sendgrid.settings,
      await relayMessage(recipients),
      sendControl(),
    );
    expect(receipt.accepted).toHaveLength(1000);
    expect(receipt.deferred.map(({ email }) => email)).toEqual([
      'r1000@x.test',
      'r1001@x.test',
      'r1002@x.test',
    ]);
  });

  it('sends text, attachments and inline images', async () => {
    const mime = [
      'From: Ada <ada@example.test>',
      'To: bo@x.test',
      'Subject: Files',
      'MIME-Version: 1.0',
      'Content-Type: multipart/mixed; boundary=m',
      '',
      '--m',
      'Content-Type: multipart/related; boundary=r',
      '',
      '--r',
      'Content-Type: multipart/alternative; boundary=a',
      '',
      '--a',
      'Content-Type: text/plain; charset=utf-8',
      '',
      'Plain',
      '',
      '--a',
      'Content-Type: text/html; charset=utf-8',
      '',
      '<img src="cid:logo">',
      '',
      '--a--',
      '--r',
      'Content-Type: image/png',
      'Content-ID: <logo>',
      'Content-Disposition: inline; filename=logo.png',
      'Content-Transfer-Encoding: base64',
      '',
      'iVBORw==',
      '',
      '--r--',
      '--m',
      'Content-Type: application/pdf; name="a b.pdf"',
      'Content-Disposition: attachment; filename="a b.pdf"',
      'Content-Transfer-Encoding: base64',
      '',
      'JVBERg==',
      '',
      '--m--',
      '',
    ].join('\r\n');
    const outgoing = { ...(await relayMessage(['bo@x.test'])), mime: Buffer.from(mime) };
    await relay.send(sendgrid.settings, outgoing, sendControl());
    expect(sendgrid.service.mails[0]?.content).toEqual([
      { type: 'text/plain', value: expect.stringMatching(/^Plain\s*$/) },
      { type: 'text/html', value: expect.stringContaining('<img src="cid:logo">') },
    ]);
    expect(sendgrid.service.mails[0]?.attachments).toEqual([
      {
        content: 'iVBORw==',
        type: 'image/png',
        filename: 'logo.png',
        disposition: 'inline',
        content_id: 'logo',
      },
      {
        content: 'JVBERg==',
        type: 'application/pdf',
        filename: 'a b.pdf',
        disposition: 'attachment',
      },
    ]);
  });

  it('sends messages without a subject or a text', async () => {
    await relay.send(
      sendgrid.settings,
      await relayMessage(['bo@x.test'], { subject: '', html: '' }),
      sendControl(),
    );
    expect(sendgrid.service.mails[0]).toMatchObject({ subject: '(no subject)' });
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
  ])(
    'maps status %s with %j to the right error code',
    async (status, body, headers, code, wait) => {
      sendgrid.service.answer('/v3/mail/send', status, body, headers);
      const error = await failureOf(
        relay.send(sendgrid.settings, await relayMessage(['bo@x.test']), sendControl()),
      );
      expect([error.code, error.retryAfterSeconds]).toEqual([code, wait]);
      expect(error.message).toContain(String(status));
    },
  );

  it('waits as long as the rate limit asks for', async () => {
    const reset = Math.ceil(clock.now().getTime() / 1000) + 30;
    sendgrid.service.answer('/v3/mail/send', 429, {}, { 'x-ratelimit-reset': String(reset) });
    const error = await failureOf(
      relay.send(sendgrid.settings, await relayMessage(['bo@x.test']), sendControl()),
    );
    expect(error.retryAfterSeconds).toBeGreaterThanOrEqual(30);
    expect(error.retryAfterSeconds).toBeLessThanOrEqual(31);
  });

  it('distinguishes a refused sender from a refused key', async () => {
    sendgrid.service.domains = [];
    const error = await failureOf(
      relay.send(sendgrid.settings, await relayMessage(['bo@x.test']), sendControl()),
    );
    expect(error).toBeInstanceOf(SenderRefusedError);
    expect(error).toMatchObject({ code: 'temporary', message: `403 ${NOT_VERIFIED}` });
  });

  it('reports an unknown outcome if no response comes after the content was sent', async () => {
    sendgrid.service.fail('/v3/mail/send', (_, __, socket) => socket.destroy());
    const cut = await failureOf(
      relay.send(sendgrid.settings, await relayMessage(['bo@x.test']), sendControl()),
    );
    expect([cut.code, cut.phase]).toEqual(['outcome-unknown', 'confirmation']);
    sendgrid.service.fail('/v3/mail/send', () => undefined);
    expect(
      await codeOf(
        impatient.send(sendgrid.settings, await relayMessage(['bo@x.test']), sendControl()),
      ),
    ).toBe('outcome-unknown');
  });

  it('reports that nothing was sent if the connection breaks before the end of the content', async () => {
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
    const error = await failureOf(relay.send({ ...sendgrid.settings, base_url }, large, control));
    expect([error.code, control.phases]).toEqual(['temporary', ['connect', 'content']]);
    expect(seen).toHaveLength(1);
    server.close();
    await once(server, 'close');
    expect(await codeOf(relay.send({ ...sendgrid.settings, base_url }, large, sendControl()))).toBe(
      'temporary',
    );
  });

  it('rejects a message that is too large without sending it', async () => {
    const large = await big(31);
    expect(await codeOf(relay.send(sendgrid.settings, large, sendControl()))).toBe('rejected');
    expect(sendgrid.service.asked).toEqual([]);
  });

  it('sends nothing once the caller has aborted', async () => {
    const control = sendControl(AbortSignal.abort());
    expect(
      await codeOf(relay.send(sendgrid.settings, await relayMessage(['bo@x.test']), control)),
    ).toBe('temporary');
    expect(sendgrid.service.asked).toEqual([]);
  });

  it.each(['connect', 'content', 'confirmation'])(
    'rethrows an error of onPhase at %s unchanged',
    async (refused) => {
      const refusal = new Error('the claim is lost');
      const control = {
        signal: new AbortController().signal,
        onPhase(phase: string) {
          if (phase === refused) throw refusal;
        },
      };
      await expect(
        relay.send(sendgrid.settings, await relayMessage(['bo@x.test']), control),
      ).rejects.toBe(refusal);
      expect(sendgrid.service.mails).toEqual([]);
      expect(sendgrid.service.asked).toEqual([]);
    },
  );
});
