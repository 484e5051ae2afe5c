import MailComposer from 'nodemailer/lib/mail-composer/index.js';
import { compose } from './compose.ts';

const html = '<p>Hello Bo</p>';
const samples: [string, string][] = [
  ['short', html],
  ['empty', ''],
  ['ends with LF', `${html}\n`],
  ['ends with CRLF', `${html}\r\n`],
  ['ends with CR', `${html}\r`],
  ['many lines', `${html}\n`.repeat(500)],
  ['long lines', html.repeat(500)],
  ['lines that end with blanks', `a  \n\tb\t\r\n${html.repeat(20)}   \n`],
  ['ends with a blank', `${html.repeat(20)} `],
  ['equals signs', '='.repeat(400)],
  ['dots at the start of lines', `.\n..\n${html.repeat(10)}\n.\n`],
  ['some umlauts', `<p>Grüße aus Österreich</p>${html.repeat(30)}`],
  ['another script', 'Привет, как дела? '.repeat(200)],
  ['emoji', `👩‍👩‍👧‍👦 ${html} `.repeat(50)],
  ['control characters', `\u0001\u0007${html}`],
  ['size at which the method changes', 'abcdefg '.repeat(2_048)],
  ['beyond that size', 'Grüße, '.repeat(3_000)],
  ['large', `${html} with some words – and a dash\n`.repeat(20_000)],
];

describe('compose', () => {
  it.each(samples)('produces the same bytes as the library: %s', async (_what, body) => {
    const date = new Date('2026-01-01T00:00:00Z');
    const messageIdHeader = '<1@example.test>';
    const from = { name: 'Ada', email: 'ada@example.test' };
    const to = [{ name: 'Bö, the "first"', email: 'bo@example.test' }];
    const composed = await compose({
      from,
      to,
      cc: [],
      bcc: [{ name: '', email: 'secret@example.test' }],
      replyTo: [],
      subject: 'Grüße',
      html: body,
      messageIdHeader,
      date,
      inReplyTo: '<0@example.test>',
      references: ['<0@example.test>'],
    });
    const expected = await new MailComposer({
      from: { name: from.name, address: from.email },
      to: to.map(({ name, email }) => ({ name, address: email })),
      cc: [],
      replyTo: [],
      subject: 'Grüße',
      html: body,
      messageId: messageIdHeader,
      date,
      inReplyTo: '<0@example.test>',
      references: ['<0@example.test>'],
      disableFileAccess: true,
      disableUrlAccess: true,
    })
      .compile()
      .build();
    expect(composed.equals(expected)).toBe(true);
    expect(composed.toString()).not.toContain('secret@example.test');
  });

  it.each(['', '<p>Hi</p>'])('includes its attachment together with the text %j', async (html) => {
    const composed = await compose({
      from: { name: '', email: 'ada@example.test' },
      to: [],
      cc: [],
      bcc: [],
      replyTo: [],
      subject: 's',
      html,
      messageIdHeader: '<1@example.test>',
      date: new Date(0),
      attachments: [
        {
          filename: 'a.txt',
          contentType: 'text/plain',
          contentDisposition: 'attachment',
          contentId: null,
          content: Buffer.from('the content'),
        },
      ],
    });
    expect(composed.toString()).toContain(Buffer.from('the content').toString('base64'));
  });
});
