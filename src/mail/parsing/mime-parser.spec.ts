import { parseMessage } from './mime-parser.ts';

const mime = (...lines: string[]) => Buffer.from(lines.join('\r\n'));

describe('parseMessage', () => {
  it('reads headers, body and attachments', () => {
    const parsed = parseMessage(
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

  it('converts plain text to HTML', () => {
    const { body, snippet } = parseMessage(mime('Subject: x', '', '1 < 2', '& more', ''));
    expect(body).toBe('1 &lt; 2<br>\n&amp; more');
    expect(snippet).toBe('1 < 2 & more');
  });

  it('removes characters that PostgreSQL cannot store', () => {
    const { subject, body, from } = parseMessage(
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
    ['From: Eve\x07\x1b]52;c;Zm9v\x07 <eve@example.test>', 'eve@example.test', 'Eve]52, c, Zm9v'],
    [
      'From: =?utf-8?q?Eve=1B=5D52;c;Zm9v=07?= <eve@example.test>',
      'eve@example.test',
      'Eve]52;c;Zm9v',
    ],
    ['From: =?utf-8?q?Eve=0D=0A=1B=5B2J=00?= <eve@example.test>', 'eve@example.test', 'Eve [2J'],
    ['From: =?utf-8?q?Eve=C2=9B2J=E2=80=AE?= <eve@example.test>', 'eve@example.test', 'Eve2J'],
    ['From: =?utf-8?q?=1B=07?= <eve@example.test>', 'eve@example.test', ''],
    ['From: "Eve\x1b" <eve\x07@example.test>', 'eve@example.test', 'Eve'],
    ['From: Eve <e\u202eve@example.test>', 'eve@example.test', 'Eve'],
  ])('keeps the address and removes control characters in %j', (header, email, name) => {
    const { from } = parseMessage(mime(header, 'To: x\x1b@example.test', '', 'text'));
    expect(from).toEqual([{ email, name }]);
  });

  it('finds no address in an encoded name', () => {
    const { from } = parseMessage(
      mime('From: =?utf-8?q?Ada=3Cada=40example=2Etest=3E?= <eve@example.test>', '', 'text'),
    );
    expect(from).toMatchObject([{ email: 'eve@example.test' }]);
  });

  it('ignores Message-IDs of absurd length', () => {
    const { messageIdHeader } = parseMessage(mime(`Message-ID: <${'x'.repeat(600)}@a>`, '', ''));
    expect(messageIdHeader).toBeNull();
  });

  it.each([
    ['nothing', ''],
    ['no headers', '\r\n\r\nhello'],
    ['no colon', 'garbage\r\n\r\nx'],
  ])('accepts a message with %s', (_, text) => {
    expect(parseMessage(Buffer.from(text)).to).toEqual([]);
  });

  it('leaves parts out that are nested too deeply, and says so', () => {
    const depth = 200;
    const open = Array.from(
      { length: depth },
      (_, n) => `Content-Type: multipart/mixed; boundary=b${n}\r\n\r\n--b${n}`,
    );
    const parsed = parseMessage(Buffer.from(['Subject: deep', ...open].join('\r\n')));
    expect(parsed).toMatchObject({ subject: 'deep', skipped: expect.stringContaining('nested') });
    expect(parsed.warnings).toEqual([parsed.skipped]);
  });

  it('reads a message whose nested multiparts are followed by many lines of dashes', () => {
    const open = Array.from(
      { length: 99 },
      (_, n) => `Content-Type: multipart/mixed; boundary=b${n}\r\n\r\n--b${n}\r\n`,
    ).join('');
    const size = 1024 * 1024;
    const text = '--\r\n'.repeat(size / 4);
    const { body, skipped } = parseMessage(Buffer.from(`${open}\r\n${text}`));
    expect(skipped).toBeUndefined();
    expect(body.length).toBeGreaterThan(size);
  });

  it('ends the header of a part at a boundary', () => {
    const lines = ['--b', 'Content-Type: text/html', '--b', '', 'The letter', '--b--'];
    const parsed = parseMessage(mime('Content-Type: multipart/mixed; boundary=b', '', ...lines));
    expect(parsed.body).toContain('The letter');
  });

  it('keeps every author, in the order of the header', () => {
    const { from } = parseMessage(
      mime('From: Boss <boss@corp.test>, Team: eve@ext.test;', 'From: max@corp.test', '', 'text'),
    );
    expect(from.map(({ email }) => email)).toEqual([
      'boss@corp.test',
      'eve@ext.test',
      'max@corp.test',
    ]);
  });

  it('says when a text does not fit its charset, without calling the message unreadable', () => {
    const parsed = parseMessage(
      Buffer.from('Content-Type: text/plain; charset=klingon\r\n\r\nGr\xfc\xdfe', 'latin1'),
    );
    expect(parsed.body).toBe('Grüße');
    expect(parsed.warnings).toEqual([expect.stringContaining('klingon')]);
    expect(parsed.skipped).toBeUndefined();
  });

  it('reads a multipart without parts as text, and text after a header that does not end as none', () => {
    const empty = parseMessage(mime('Content-Type: multipart/mixed; boundary=b', '', 'The letter'));
    expect([empty.body, empty.warnings.length]).toEqual(['The letter', 1]);
    expect(parseMessage(mime('Subject: x', 'Y: z')).body).toBe('');
  });
});
