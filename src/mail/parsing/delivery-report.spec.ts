import { parseMessage } from './mime-parser.ts';
import { readDeliveryReport } from './delivery-report.ts';

/** Reports in the wording of real servers, with invented names and addresses. */
const reportOf = (lines: string[]) => parseMessage(Buffer.from(lines.join('\r\n'))).report;

const HEAD = [
  'From: MAILER-DAEMON@mx.example.test',
  'To: ada@example.test',
  'Subject: Undelivered',
  'MIME-Version: 1.0',
];
const REPORT = 'Content-Type: multipart/report; report-type=delivery-status; boundary="b1"';

/**
 * @param status the part about recipients
 * @param original the part with the original message
 */
const report = (status: string[], original: string[], type = REPORT) => [
  ...HEAD,
  type,
  '',
  'This is a MIME-encapsulated message.',
  '',
  '--b1',
  'Content-Type: text/plain',
  '',
  'Sorry.',
  '',
  '--b1',
  'Content-Type: message/delivery-status',
  '',
  ...status,
  '',
  '--b1',
  ...original,
  '',
  '--b1--',
  '',
];
const ORIGINAL = [
  'Content-Type: text/rfc822-headers',
  '',
  'Subject: Hello',
  'Message-ID: <m1@example.test>',
  'To: bo@example.test',
];
const MTA = [
  'Reporting-MTA: dns; mx.example.test',
  'Arrival-Date: Sat, 21 Nov 2026 20:00:00 +0000',
];

describe('reading delivery reports', () => {
  it('reads a report of Postfix', () => {
    const status = [
      'Reporting-MTA: dns; mx.example.test',
      'X-Postfix-Queue-ID: 4F1Kq32dJ0z9',
      'X-Postfix-Sender: rfc822; ada@example.test',
      'Arrival-Date: Sat, 21 Nov 2026 20:00:00 +0000 (UTC)',
      '',
      'Final-Recipient: rfc822; bo@elsewhere.test',
      'Original-Recipient: rfc822;Bo.Alias@Elsewhere.test',
      'Action: failed',
      'Status: 5.1.1',
      'Remote-MTA: dns; mx.elsewhere.test',
      'Diagnostic-Code: smtp; 550 5.1.1 <bo@elsewhere.test>: Recipient address',
      '    rejected: User unknown in virtual mailbox table',
    ];
    const original = ['Content-Description: Undelivered Message Headers', ...ORIGINAL];
    expect(reportOf(report(status, original))).toEqual({
      about: ['<m1@example.test>'],
      failed: [
        {
          email: 'bo.alias@elsewhere.test',
          type: 'hard',
          code: '5.1.1',
          smtpCode: '550',
          text: '550 5.1.1 <bo@elsewhere.test>: Recipient address rejected: User unknown in virtual mailbox table',
        },
      ],
    });
  });

  it('reads a report of Exim, whose status code is generic', () => {
    const status = [
      'Reporting-MTA: dns; mx.example.test',
      '',
      'Action: failed',
      'Final-Recipient: rfc822;bo@elsewhere.test',
      'Status: 5.0.0',
      'Remote-MTA: dns; mx.elsewhere.test',
      'Diagnostic-Code: smtp; 452 4.2.2 The mailbox is full',
    ];
    const original = [
      'Content-Type: message/rfc822',
      '',
      'Return-path: <ada@example.test>',
      'Received: from [10.0.0.1] (helo=x)\r\n\tby mx.example.test; Sat, 21 Nov 2026 20:00:00 +0000',
      'Message-ID:\r\n <m1@example.test>',
      'Content-Type: multipart/mixed; boundary="b2"',
      '',
      '--b2',
      'Content-Type: message/rfc822',
      '',
      'Message-ID: <within@example.test>',
      '',
      'x',
      '--b2--',
    ];
    expect(reportOf(report(status, original))).toMatchObject({
      about: ['<m1@example.test>'],
      failed: [{ type: 'soft', code: '4.2.2', smtpCode: '452' }],
    });
  });

  it('reads a report of Exchange Online', () => {
    const status = [
      'Reporting-MTA: dns;AM0PR01MB0001.eurprd01.prod.exchange.test',
      'Received-From-MTA: dns;AM0PR01MB0001.eurprd01.prod.exchange.test',
      'Arrival-Date: Sat, 21 Nov 2026 20:00:00 +0000',
      '',
      'Final-Recipient: rfc822;bo@elsewhere.test',
      'Action: failed',
      'Status: 5.1.10',
      'Diagnostic-Code: smtp;550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient bo@elsewhere.test not found by SMTP address lookup',
      'X-Display-Name: bo@elsewhere.test',
    ];
    const type = 'Content-Type: multipart/report; report-type=delivery-status;\r\n\tboundary="b1"';
    const original = ['Content-Type: message/rfc822', '', ...ORIGINAL.slice(2), '', 'Body'];
    expect(reportOf(report(status, original, type))).toMatchObject({
      about: ['<m1@example.test>'],
      failed: [{ email: 'bo@elsewhere.test', type: 'hard', code: '5.1.10', smtpCode: '550' }],
    });
  });

  it('reads a report of Gmail about several recipients', () => {
    const recipient = (email: string, action: string, code: string) => [
      '',
      `Final-Recipient: rfc822; ${email}`,
      `Action: ${action}`,
      `Status: ${code}`,
      `Diagnostic-Code: smtp; ${code.startsWith('5') ? '550' : '421'}-${code} The response was:`,
      'Last-Attempt-Date: Sat, 21 Nov 2026 12:00:00 -0800 (PST)',
    ];
    const status = [
      ...MTA,
      'X-Original-Message-ID: <m1@example.test>',
      ...recipient('a@x.test', 'failed', '4.4.1'),
      ...recipient('b@x.test', 'delayed', '4.4.1'),
      ...recipient('c@x.test', 'delivered', '2.0.0'),
      ...recipient('d@x.test', 'Failed (for good)', '5.7.1'),
    ];
    const type = 'Content-Type: multipart/report; boundary="b1"; report-type="Delivery-Status"';
    expect(reportOf(report(status, ORIGINAL, type))?.failed).toMatchObject([
      { email: 'a@x.test', type: 'soft', code: '4.4.1', smtpCode: '421' },
      { email: 'd@x.test', type: 'hard', code: '5.7.1', smtpCode: '550' },
    ]);
  });

  it('takes the Message-IDs from the header of a report without the original message', () => {
    const lines = report(
      [...MTA, '', 'Final-Recipient: rfc822; b@x.test', 'Action: failed', 'Status: 5.0.0'],
      ['Content-Type: text/plain', '', 'x'],
    );
    lines.splice(
      1,
      0,
      'In-Reply-To: <m1@example.test>',
      'References: <m0@example.test> <m1@example.test>',
    );
    expect(reportOf(lines)).toEqual({
      about: ['<m1@example.test>', '<m0@example.test>'],
      failed: [{ email: 'b@x.test', type: 'hard', code: '5.0.0', smtpCode: null, text: '' }],
    });
  });

  it.each([
    ['a delay', ['Final-Recipient: rfc822; b@x.test', 'Action: delayed', 'Status: 4.4.1']],
    [
      'a recipient that is not an email address',
      ['Final-Recipient: x400; c=de', 'Action: failed', 'Status: 5.1.1'],
    ],
    [
      'a recipient that is too long',
      [`Final-Recipient: rfc822; ${'x'.repeat(400)}@x.test`, 'Action: failed'],
    ],
    ['a missing recipient', ['Action: failed']],
    ['an empty block', []],
  ])('reports no failed recipient for %s', (_, recipient) => {
    expect(reportOf(report([...MTA, '', ...recipient], ORIGINAL))?.failed).toEqual([]);
  });

  it.each([
    ['multipart/report; report-type=disposition-notification', true],
    ['Multipart/Report', true],
    ['', false],
    ['text/plain', false],
    ['multipart/mixed; report-type=delivery-status', false],
    ['multipart/reports', false],
  ])('recognises a report by its content type: %s', (type, isReport) => {
    expect(reportOf([`Content-Type: ${type}`, '', 'x']) !== undefined).toBe(isReport);
  });

  describe('of a failure notice without a report', () => {
    const notice = (fields: string[], text: string[]) =>
      reportOf([...HEAD, ...fields, 'Content-Type: text/plain', '', ...text]);
    const EXIM = [
      'This message was created automatically by mail delivery software.',
      '',
      'The following address(es) failed:',
      '',
      '  Bo@elsewhere.test',
      '    host mx.elsewhere.test [192.0.2.250]',
      '    SMTP error from remote mail server after RCPT TO:<bo@elsewhere.test>:',
      '    452 4.2.2 Mailbox full',
      '',
      '  cy@elsewhere.test',
      '    Unrouteable address',
      '',
      '------ This is a copy of your message, including all the headers. ------',
      '',
      'Return-path: <ada@example.test>',
      'Message-ID: <m1@example.test>',
      '',
      'Message-ID: <within@example.test>',
    ];

    it('reads the recipients, the reasons and the original message', () => {
      const fields = ['X-Failed-Recipients: bo@elsewhere.test,', '  cy@elsewhere.test'];
      expect(notice([...fields, 'References: <m0@example.test>'], EXIM)).toMatchObject({
        about: ['<m1@example.test>', '<m0@example.test>'],
        failed: [
          { email: 'bo@elsewhere.test', type: 'soft', code: '4.2.2', smtpCode: '452' },
          { email: 'cy@elsewhere.test', type: 'hard', code: null, text: 'Unrouteable address' },
        ],
      });
    });

    it.each([
      ['no address', 'X-Failed-Recipients: nobody'],
      ['an overlong address', `X-Failed-Recipients: ${'x'.repeat(400)}@x.test`],
    ])('names no recipient for %s', (_, field) => {
      expect(notice([field], EXIM)?.failed).toEqual([]);
    });

    it('reads a notice with a line of 200,000 dashes', () => {
      const read = notice(['X-Failed-Recipients: bo@x.test'], ['bo@x.test', '-'.repeat(200_000)]);
      expect(read?.failed).toMatchObject([{ email: 'bo@x.test' }]);
    });

    it('reads at most 100 recipients of a hostile notice', () => {
      const many = Array.from({ length: 5_000 }, (_, n) => `a${n}@x.test`).join(',');
      const text = '--- copy\n'.repeat(50_000) + 'Message-ID: <a'.repeat(50_000);
      expect(notice([`X-Failed-Recipients: ${many}`], [text])?.failed).toHaveLength(100);
    });
  });

  it('skips content that is hostile or cannot be read', () => {
    const hostile = [
      `Final-Recipient: rfc822; ${'a@'.repeat(50_000)}<`,
      `Final-Recipient: rfc822;${' '.repeat(100_000)}x`,
      'Final-Recipient: rfc822; \0b@x.test\ud83d',
      'Action: failed\n '.repeat(20_000),
      `Diagnostic-Code: ${'smtp; '.repeat(20_000)}`,
      ':\n:\n\n\n: x\nStatus:',
    ];
    const blocks = hostile
      .map((line) => `${line}\nAction: failed\nStatus: ${'5.1.'.repeat(10_000)}\n\n`)
      .join('');
    const part = (contentType: string, text: string) => ({
      contentType,
      text: (most: number) => text.slice(0, most),
    });
    const read = readDeliveryReport(
      [
        part('message/delivery-status', blocks.repeat(5)),
        part('message/rfc822', `Message-ID: ${'<a'.repeat(50_000)}>`),
      ],
      ['<m1@example.test>'],
    );
    expect(read.about).toEqual(['<m1@example.test>']);
    expect(
      read.failed.every(
        ({ email, text }) => email.isWellFormed() && !`${email}${text}`.includes('\0'),
      ),
    ).toBe(true);
    const many = 'Final-Recipient: rfc822; b@x.test\nAction: failed\n\n'.repeat(5_000);
    expect(
      readDeliveryReport([part('message/delivery-status', many)], ['<m1@x>']).failed,
    ).toHaveLength(100);
  });
});
