import { AutoconfigError, parseAutoconfig } from './autoconfig-xml.ts';
import { readAutoconfig } from './autoconfig.ts';

const EMAIL = 'ada.l@example.test';
const imap = (inner = '', type = 'imap') => `
  <incomingServer type="${type}"><hostname>imap.example.test</hostname><port>993</port><socketType>SSL</socketType>
  <authentication>password-cleartext</authentication><username>%EMAILADDRESS%</username>${inner}</incomingServer>`;
const smtp = `
  <outgoingServer type="smtp"><hostname>smtp.%EMAILDOMAIN%</hostname><port>587</port><socketType>STARTTLS</socketType>
  <username>%EMAILLOCALPART%</username></outgoingServer>`;
const document = (inner: string, head = '<?xml version="1.0" encoding="UTF-8"?>') =>
  `${head}<clientConfig version="1.1"><emailProvider id="example.test">${inner}</emailProvider></clientConfig>`;

describe('readAutoconfig', () => {
  it('fills in the placeholders of the servers', () => {
    expect(readAutoconfig(document(imap() + smtp), EMAIL)).toEqual({
      imap: { host: 'imap.example.test', port: 993, security: 'tls', user: EMAIL },
      smtp: { host: 'smtp.example.test', port: 587, security: 'starttls', user: 'ada.l' },
      caldavUrl: undefined,
      carddavUrl: undefined,
    });
  });

  it('reads URLs of calendars and address books only with https', () => {
    const dav = (element: string, type: string, url: string) =>
      `<${element} type="${type}"><username>%EMAILADDRESS%</username><serverURL>${url}</serverURL></${element}>`;
    const found = readAutoconfig(
      document(
        dav('calendar', 'caldav', 'http://dav.example.test/') +
          dav('calendar', 'caldav', 'https://dav.example.test/%EMAILADDRESS%/') +
          dav('addressBook', 'carddav', 'https://dav.example.test/books'),
      ),
      EMAIL,
    );
    expect(found).toMatchObject({
      caldavUrl: `https://dav.example.test/${EMAIL}/`,
      carddavUrl: 'https://dav.example.test/books',
    });
  });

  it.each([
    [
      'an entity of XML',
      document(imap() + smtp).replace('imap.example.test', 'imap&#46;example.test'),
    ],
    ['a byte order mark', `\uFEFF${document(imap() + smtp)}`],
    [
      'CDATA',
      document(imap() + smtp).replace('imap.example.test', '<![CDATA[imap.example.test]]>'),
    ],
    [
      'another server before it',
      document(imap('', 'pop3').replace('imap.', 'pop.') + imap() + smtp),
    ],
    [
      'an unencrypted server before it',
      document(imap().replace('SSL', 'plain').replace('imap.', 'clear.') + imap() + smtp),
    ],
    [
      'a server with an unsupported login before it',
      document(
        imap().replace('password-cleartext', 'GSSAPI').replace('imap.', 'krb.') + imap() + smtp,
      ),
    ],
    ['unknown elements', document(`<what><hostname>evil.test</hostname></what>${imap()}${smtp}`)],
    ['upper case', document(imap().replace('imap.example.test', 'IMAP.Example.Test') + smtp)],
  ])('reads a document with %s', (_, text) => {
    expect(readAutoconfig(text, EMAIL).imap?.host).toBe('imap.example.test');
  });

  it.each([
    ['a web page', '<!DOCTYPE html><html><body>Not found</body></html>'],
    ['text', 'nothing here'],
    ['nothing', ''],
    ['another document', '<html><incomingServer type="imap"/></html>'],
    ['half a document', document(imap() + smtp).slice(0, 300)],
    ['no port', document(imap().replace('<port>993</port>', ''))],
    ['an invalid port', document(imap().replace('993', '99999'))],
    ['a port that is not a number', document(imap().replace('993', '0x3e1g'))],
    ['a host with a path', document(imap().replace('imap.example.test', 'imap.example.test/evil'))],
    ['a host with a port', document(imap().replace('imap.example.test', 'imap.example.test:25'))],
    [
      'a host with a line break',
      document(imap().replace('imap.example.test', 'imap.example&#10;.test')),
    ],
    ['only an unencrypted server', document(imap().replace('SSL', 'plain'))],
  ])('finds no IMAP server in %s', (_, text) => {
    expect(readAutoconfig(text, EMAIL).imap).toBeUndefined();
  });
});

describe('parseAutoconfig with hostile documents', () => {
  const external = (declaration: string, use: string) =>
    `<?xml version="1.0"?><!DOCTYPE clientConfig [${declaration}]>${document(imap().replace('imap.example.test', use), '')}`;
  const laughs = Array.from(
    { length: 9 },
    (_, index) => `<!ENTITY l${index + 1} "${`&l${index};`.repeat(10)}">`,
  ).join('');

  it.each([
    ['an external entity', external('<!ENTITY x SYSTEM "file:///etc/passwd">', '&x;')],
    [
      'an external DTD',
      `<!DOCTYPE clientConfig SYSTEM "http://127.0.0.1/evil.dtd">${document(imap(), '')}`,
    ],
    ['a parameter entity', external('<!ENTITY % x SYSTEM "http://127.0.0.1/"> %x;', 'a')],
    ['entities within entities', external(`<!ENTITY l0 "ha">${laughs}`, '&l9;')],
    ['an undeclared entity', document(imap().replace('imap.example.test', '&x;'))],
    ['an entity of HTML', document(imap().replace('imap.example.test', '&nbsp;'))],
    ['too many elements', document('<a/>'.repeat(5_000))],
    ['elements nested too deeply', document('<a>'.repeat(1_000) + '</a>'.repeat(1_000))],
    ['elements that cross', document('<a><b></a></b>')],
    ['an endless attribute', document(`<a b="${'x'.repeat(200_000)}`)],
    ['an attribute twice', document('<a b="1" b="2"')],
  ])('refuses %s', (_, text) => {
    expect(() => parseAutoconfig(text)).toThrow(AutoconfigError);
  });

  it('keeps no more of a text than a host name needs', () => {
    const [server] = parseAutoconfig(
      document(
        `<incomingServer type="imap"><hostname>${'a'.repeat(60_000)}</hostname></incomingServer>`,
      ),
    );
    expect(server?.fields.get('hostname')?.[0]?.length).toBeLessThanOrEqual(2_000);
  });

  it('keeps at most fifty servers', () => {
    expect(
      parseAutoconfig(document('<incomingServer type="imap"></incomingServer>'.repeat(500))),
    ).toHaveLength(50);
  });

  it('has no values under the names of object properties', () => {
    const [server] = parseAutoconfig(
      document(imap('<__proto__>x</__proto__><constructor>y</constructor>')),
    );
    expect(server?.fields.get('hostname')).toEqual(['imap.example.test']);
    expect(({} as Record<string, unknown>)['x']).toBeUndefined();
  });
});
