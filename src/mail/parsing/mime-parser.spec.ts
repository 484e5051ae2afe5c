import { parseMessage } from './mime-parser.ts';

const mime = (...lines: string[]) => Buffer.from(lines.join('\r\n'));

describe('parseMessage', () => {
  it('reads headers, body and attachments', async () => {
    const parsed = await parseMessage(
      mime(
        'From: =?utf-8?q?Bj=C3=B6rn?= <b@example.test>',
        'To: Team: a@example.test, "C, D" <c@example.test>;, d@example.test',
        'Cc: e@example.test',
        'Reply-To: r@example.test',
        'Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=',
        'Message-ID: <1@example.test>',
        'In-Reply-To: <0@example.test>',
        'References: <x@example.test>',
        ' <0@example.test>',
        'Content-Type: multipart/mixed; boundary=b',
        '',
        '--b',
        'Content-Type: text/html; charset=utf-8',
        '',
        '<p>Hallo</p>',
        '--b',
        'Content-Type: image/png; name=p.png',
        'Content-Disposition: inline; filename=p.png',
        'Content-ID: <pic>',
        'Content-Transfer-Encoding: base64',
        '',
        'AAECAw==',
        '--b',
        'Content-Type: message/rfc822',
        '',
        'Subject: inner',
        '',
        'inner text',
        '--b--',
      ),
    );
    expect(parsed).toMatchObject({
      subject: 'Grüße',
      from: [{ email: 'b@example.test', name: 'Björn' }],
      to: [
        { email: 'a@example.test', name: '' },
        { email: 'c@example.test', name: 'C, D' },
        { email: 'd@example.test', name: '' },
      ],
      cc: [{ email: 'e@example.test', name: '' }],
      bcc: [],
      replyTo: [{ email: 'r@example.test', name: '' }],
      messageIdHeader: '<1@example.test>',
      inReplyTo: '<0@example.test>',
      references: ['<x@example.test>', '<0@example.test>'],
      snippet: 'Hallo',
    });
    expect(parsed.body.trim()).toBe('<p>Hallo</p>');
    expect(parsed.files).toMatchObject([
      {
        part: 0,
        filename: 'p.png',
        contentType: 'image/png',
        contentDisposition: 'inline',
        contentId: 'pic',
        size: 4,
      },
      { part: 1, contentType: 'message/rfc822', contentDisposition: 'attachment', contentId: null },
    ]);
  });

  it('converts plain text to HTML', async () => {
    const { body, snippet } = await parseMessage(mime('Subject: x', '', '1 < 2', '& more', ''));
    expect(body).toBe('1 &lt; 2<br>\n&amp; more');
    expect(snippet).toBe('1 < 2 & more');
  });

  it('removes characters that PostgreSQL cannot store', async () => {
    const { subject, body, from } = await parseMessage(
      mime(
        'From: "a\0" <a\0@example.test>',
        'Subject: a\0b',
        'Content-Type: text/html',
        '',
        '<b>\0&#xD800;</b>',
      ),
    );
    expect([subject, body, JSON.stringify(from)].join('')).not.toContain('\0');
    expect(subject).toBe('ab');
  });

  it.each([
    ['From: Eve\x07\x1b]52;c;Zm9v\x07 <eve@example.test>', 'eve@example.test', 'Zm9v'],
    ['From: =?utf-8?q?Eve=1B=5D52;c;Zm9v=07?= <eve@example.test>', 'eve@example.test', 'Zm9v=07?='],
    ['From: =?utf-8?q?Eve=0D=0A=1B=5B2J=00?= <eve@example.test>', 'eve@example.test', 'Eve [2J'],
    ['From: =?utf-8?q?Eve=C2=9B2J=E2=80=AE?= <eve@example.test>', 'eve@example.test', 'Eve2J'],
    ['From: =?utf-8?q?=1B=07?= <eve@example.test>', 'eve@example.test', ''],
    ['From: "Eve\x1b" <eve\x07@example.test>', 'eve@example.test', 'Eve'],
    ['From: Eve <e\u202eve@example.test>', 'eve@example.test', 'Eve'],
  ])('keeps the address and removes control characters in %j', async (header, email, name) => {
    const { from } = await parseMessage(mime(header, 'To: x\x1b@example.test', '', 'text'));
    expect(from).toEqual([{ email, name }]);
  });

  it('finds no address in an encoded name', async () => {
    const { from } = await parseMessage(
      mime('From: =?utf-8?q?Ada=3Cada=40example=2Etest=3E?= <eve@example.test>', '', 'text'),
    );
    expect(from).toMatchObject([{ email: 'eve@example.test' }]);
  });

  it('ignores Message-IDs of absurd length', async () => {
    const { messageIdHeader } = await parseMessage(
      mime(`Message-ID: <${'x'.repeat(600)}@a>`, '', ''),
    );
    expect(messageIdHeader).toBeNull();
  });

  it.each([
    ['nothing', ''],
    ['no headers', '\r\n\r\nhello'],
    ['no colon', 'garbage\r\n\r\nx'],
  ])('accepts a message with %s', async (_, text) => {
    expect((await parseMessage(Buffer.from(text))).to).toEqual([]);
  });

  it('refuses a message with too many nested parts', async () => {
    const depth = 200;
    const open = Array.from(
      { length: depth },
      (_, n) => `Content-Type: multipart/mixed; boundary=b${n}\r\n\r\n--b${n}`,
    );
    await expect(parseMessage(Buffer.from(open.join('\r\n')))).rejects.toThrow(/nesting/i);
  });
});
