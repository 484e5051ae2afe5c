/*
 * Messages as strangers send them, each with what Carillon shows of it. Every case is small;
 * `large` adds a file, so that IMAP accounts read the message by its parts.
 */

/** A message, and what the API shows of it. */
export interface MailCase {
  /** A sentence that goes on: "a message …". */
  name: string;
  /** Header lines, an empty line, and the content. Characters above 0x7f are bytes. */
  lines: readonly string[];
  /** What the API shows, as far as the case is about it. */
  expected: {
    /** Text of the body without markup, with single blanks. */
    text?: string;
    subject?: string;
    from?: readonly string[];
    to?: readonly string[];
    files?: readonly MailCaseFile[];
    messageId?: string;
    inReplyTo?: string;
    /** A word that finds the message. */
    word?: string;
  };
}

/** A file of a message, with its bytes as one character each. */
export interface MailCaseFile {
  filename: string;
  content_type: string;
  content_disposition?: string;
  bytes: string;
}

const multipart = (type: string, boundary: string, ...parts: (readonly string[])[]): string[] => [
  `Content-Type: multipart/${type}; boundary=${boundary}`,
  '',
  ...parts.flatMap((part) => [`--${boundary}`, ...part]),
  `--${boundary}--`,
];
const plain = (text: string): string[] => ['Content-Type: text/plain; charset=utf-8', '', text];
const html = (text: string): string[] => ['Content-Type: text/html; charset=utf-8', '', text];
const file = (type: string, filename: string, encoding: string, ...content: string[]): string[] => [
  `Content-Type: ${type}`,
  `Content-Disposition: attachment; filename="${filename}"`,
  `Content-Transfer-Encoding: ${encoding}`,
  '',
  ...content,
];
const pairs = Array.from({ length: 12 }, (_, n) => [
  html(`<p>text${n + 1}</p>`),
  [
    'Content-Type: image/png',
    'Content-Disposition: inline',
    `Content-ID: <picture${n + 1}@x>`,
    'Content-Transfer-Encoding: base64',
    '',
    'AAEC',
  ],
]).flat();

/** Cases of which parts are the body, and which are files. */
export const PART_CASES: readonly MailCase[] = [
  {
    name: 'with a plain letter and an HTML note shows both',
    lines: multipart('mixed', 'b', plain('The letter quince.'), html('<p>The note</p>')),
    expected: { text: 'The letter quince. The note', files: [], word: 'quince' },
  },
  {
    name: 'with alternatives and a plain footer shows the best alternative and the footer',
    lines: multipart(
      'mixed',
      'b',
      multipart('alternative', 'c', plain('poor'), html('<p>The letter</p>')),
      plain('The footer medlar'),
    ),
    expected: { text: 'The letter The footer medlar', files: [], word: 'medlar' },
  },
  {
    name: 'with twelve texts and pictures shows all texts',
    lines: multipart('mixed', 'b', ...pairs),
    expected: {
      text: Array.from({ length: 12 }, (_, n) => `text${n + 1}`).join(' '),
      word: 'text12',
    },
  },
  {
    name: 'with an empty HTML alternative shows the plain text',
    lines: multipart('alternative', 'b', plain('The letter'), html('')),
    expected: { text: 'The letter', files: [] },
  },
  {
    name: 'with a named text that is shown inline lists it as a file',
    lines: multipart('mixed', 'b', plain('The letter'), [
      'Content-Type: text/plain',
      'Content-Disposition: inline; filename="server.log"',
      '',
      'line one',
      'line two',
    ]),
    expected: {
      text: 'The letter',
      files: [
        {
          filename: 'server.log',
          content_type: 'text/plain',
          content_disposition: 'inline',
          bytes: 'line one\r\nline two',
        },
      ],
    },
  },
  {
    name: 'with a named HTML page and a text with a name in its type lists both as files',
    lines: multipart(
      'mixed',
      'b',
      plain('The letter'),
      [
        'Content-Type: text/html',
        'Content-Disposition: inline; filename=report.html',
        '',
        '<p>Report</p>',
      ],
      ['Content-Type: text/plain; name=notes.txt', '', 'notes'],
    ),
    expected: {
      text: 'The letter',
      files: [
        { filename: 'report.html', content_type: 'text/html', bytes: '<p>Report</p>' },
        { filename: 'notes.txt', content_type: 'text/plain', bytes: 'notes' },
      ],
    },
  },
  {
    name: 'whose only text has a name shows it',
    lines: ['Content-Type: text/plain; name=letter.txt', '', 'The letter'],
    expected: { text: 'The letter' },
  },
  {
    name: 'with files that are not in base64 keeps their bytes',
    lines: multipart(
      'mixed',
      'b',
      plain('The letter'),
      file('text/csv; charset=iso-8859-1', 'a.csv', '8bit', 'caf\xe9;1', 'th\xe9;2', ''),
      file('application/xml', 'b.xml', '7bit', '<a/>'),
      [
        'Content-Type: message/rfc822',
        'Content-Disposition: attachment; filename=c.eml',
        '',
        'Subject: x',
        '',
        'y',
      ],
      file('application/octet-stream', 'd.bin', 'base64', ''),
      file('application/octet-stream', 'e.bin', 'quoted-printable', '=00=FF=0A x=20=', 'y \t', 'z'),
      file('text/plain; charset=iso-8859-1; format=flowed', 'f.txt', '8bit', 'one \xe9 ', 'two'),
    ),
    expected: {
      text: 'The letter',
      files: [
        { filename: 'a.csv', content_type: 'text/csv', bytes: 'caf\xe9;1\r\nth\xe9;2\r\n' },
        { filename: 'b.xml', content_type: 'application/xml', bytes: '<a/>' },
        { filename: 'c.eml', content_type: 'message/rfc822', bytes: 'Subject: x\r\n\r\ny' },
        { filename: 'd.bin', content_type: 'application/octet-stream', bytes: '' },
        { filename: 'e.bin', content_type: 'application/octet-stream', bytes: '\0\xff\n x y\r\nz' },
        { filename: 'f.txt', content_type: 'text/plain', bytes: 'one \xe9 \r\ntwo' },
      ],
    },
  },
];

/** Cases of how a text is decoded. In `large` messages it is the first part. */
export const TEXT_CASES: readonly MailCase[] = [
  ['without a charset', 'Content-Type: text/plain', 'Gr\xc3\xbc\xc3\x9fe', 'Grüße'],
  [
    'in UTF-8 that claims to be ASCII',
    'Content-Type: text/plain; charset=us-ascii',
    'Gr\xc3\xbc\xc3\x9fe',
    'Grüße',
  ],
  [
    'in UTF-8 of an unknown charset',
    'Content-Type: text/plain; charset=unknown-8bit',
    'Gr\xc3\xbc\xc3\x9fe',
    'Grüße',
  ],
  ['in Latin-1 without a charset', 'Content-Type: text/plain', 'Gr\xfc\xdfe', 'Grüße'],
  [
    'in HTML that names its charset itself',
    'Content-Type: text/html',
    '<meta charset="windows-1251"><p>\xcf\xf0\xe8\xe2\xe5\xf2</p>',
    'Привет',
  ],
  [
    'in HTML in UTF-8 that names no charset',
    'Content-Type: text/html',
    '<p>Gr\xc3\xbc\xc3\x9fe</p>',
    'Grüße',
  ],
  ['in UTF-7', 'Content-Type: text/plain; charset=utf-7', 'Gr+APwA3w-e', 'Grüße'],
  [
    'in ISO-2022-KR',
    'Content-Type: text/plain; charset=iso-2022-kr',
    '\x1b$)C\x0e>H3g\x0f ok',
    '안녕 ok',
  ],
  ['in HZ', 'Content-Type: text/plain; charset=hz-gb-2312', '~{<:Ky2;S{~} ~~', '己所不欲 ~'],
  ['in code page 850', 'Content-Type: text/plain; charset=cp850', 'Gr\x81\xe1e', 'Grüße'],
  ['with the type "text"', 'Content-Type: text', 'The letter', 'The letter'],
  ['with an empty type', 'Content-Type:', 'The letter', 'The letter'],
  [
    'with a type without a semicolon',
    'Content-Type: text/plain charset=iso-8859-1',
    'Gr\xfc\xdfe',
    'Grüße',
  ],
  ['with the type "html"', 'Content-Type: html', '<p>The letter</p>', 'The letter'],
].map(([name = '', header = '', content = '', text = '']) => ({
  name: `${name} shows its text`,
  lines: [header, '', content],
  expected: { text, files: [] },
}));

/** Cases of header fields. */
export const HEADER_CASES: readonly MailCase[] = [
  {
    name: 'with two From fields and several authors lists all authors',
    lines: ['From: Boss <boss@corp.test>, Eve <eve@ext.test>', 'From: max@corp.test', '', 'x'],
    expected: { from: ['boss@corp.test', 'eve@ext.test', 'max@corp.test'] },
  },
  {
    name: 'with a header in Latin-1 shows its subject',
    lines: ['Subject: Gr\xfc\xdfe', '', 'x'],
    expected: { subject: 'Grüße' },
  },
  {
    name: 'with a header in windows-1251 shows its subject',
    lines: ['Subject: \xcf\xf0\xe8\xe2\xe5\xf2, \xea\xe0\xea \xe4\xe5\xeb\xe0', '', 'x'],
    expected: { subject: 'Привет, как дела' },
  },
  {
    name: 'with encoded words in rare charsets shows its subject',
    lines: ['Subject: =?utf-7?Q?Gr+APwA3w-e?= =?cp850?Q?_gr=81n?=', '', 'x'],
    expected: { subject: 'Grüße grün' },
  },
  {
    name: 'with comments in comments and routes has the right recipients',
    lines: [
      'To: ada@x.test (a (b) c), <@r.test,@s.test:bo@x.test>, "x <y@z.test" <cy@x.test>',
      '',
      'x',
    ],
    expected: { to: ['ada@x.test', 'bo@x.test', 'cy@x.test'] },
  },
  {
    name: 'with a Message-ID that is folded inside and an In-Reply-To without brackets has both',
    lines: ['Message-ID: <folded@', ' host.test>', 'In-Reply-To: parent@host.test', '', 'x'],
    expected: { messageId: '<folded@host.test>', inReplyTo: '<parent@host.test>' },
  },
  {
    name: 'with a Message-ID without brackets has one',
    lines: ['Message-ID: bare@host.test', '', 'x'],
    expected: { messageId: '<bare@host.test>' },
  },
  {
    name: 'in the format "flowed" joins the lines of each paragraph only',
    lines: [
      'Content-Type: text/plain; format=flowed',
      '',
      '> Look it up ',
      '',
      'No, it is true',
      '> one ',
      '> two',
      '>> a ',
      '>> b',
    ],
    expected: { text: '> Look it up No, it is true > one two >> a b' },
  },
];

/** Bytes of a message. */
export const bytesOf = ({ lines }: Pick<MailCase, 'lines'>): Buffer =>
  Buffer.from([...lines, ''].join('\r\n'), 'latin1');

const LARGE_KB = 300;
const LARGE_FILE = file(
  'application/pdf',
  'large.pdf',
  'base64',
  ...Array<string>(4 * LARGE_KB).fill('A'.repeat(76)),
);

/**
 * The same message with a large file, which is shown after its own. Its other header fields stay in
 * the header of the message.
 */
export function large({ name, lines, expected }: MailCase): MailCase {
  const end = lines.indexOf('');
  const header = lines.slice(0, end);
  const isOfPart = (line: string) => /^content-/i.test(line);
  const part = [...header.filter(isOfPart), ...lines.slice(end)];
  const added = multipart('mixed', 'large', part, LARGE_FILE);
  return { name, expected, lines: [...header.filter((line) => !isOfPart(line)), ...added] };
}
