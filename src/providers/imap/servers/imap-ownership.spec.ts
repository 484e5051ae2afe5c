import {
  type DiscoveredMail,
  type MailCandidate,
  MailDiscovery,
} from '../../port/sign-in/mail-discovery.ts';
import { imapMailbox, presetProof, proveImap } from './imap-ownership.ts';

const ADA = 'ada@company.example';
const settings = (change: object = {}) => ({
  imap_host: 'mail.company.example',
  imap_port: 993,
  imap_username: ADA,
  ...change,
});
const key = (change: object = {}, email = ADA) =>
  imapMailbox({ email, settings: settings(change) });

describe('imapMailbox', () => {
  it('returns the same key for the same server and login, in any notation', () => {
    for (const change of [
      { imap_host: 'MAIL.company.example' },
      { imap_host: 'mail.company.example.' },
      { imap_port: 143, imap_security: 'starttls' },
      { imap_port: '993' },
      { imap_username: 'Ada@Company.example' },
      { smtp_host: 'elsewhere.example', imap_password: 'new' },
    ])
      expect([change, key(change)]).toEqual([change, key()]);
  });

  it('returns different keys for different servers, ports or logins', () => {
    const keys = [
      key(),
      key({ imap_host: 'mail.evil.example' }),
      key({ imap_port: 1993 }),
      key({ imap_username: 'bob' }),
      key({ imap_username: 'Bob' }),
      key({ imap_host: 'mail.company.example|x' }),
    ];
    expect(new Set(keys).size).toBe(keys.length);
  });
});

describe('presetProof', () => {
  it.each([
    [
      'the servers of the table and the address as login',
      'imap.gmail.com',
      'ada@gmail.com',
      'preset',
    ],
    ['the servers of the table and another login', 'imap.gmail.com', 'eve@gmail.com', null],
    ['another server', 'imap.evil.example', 'ada@gmail.com', null],
  ])('is right for an address in the table with %s', (_, imap_host, imap_username, proof) => {
    const change = { imap_host, imap_username };
    expect(presetProof({ email: 'ada@gmail.com', settings: settings(change) })).toBe(proof);
  });

  it('proves nothing for another domain at the same provider', () => {
    const change = { imap_host: 'imap.gmail.com' };
    expect(presetProof({ email: ADA, settings: settings(change) })).toBeNull();
  });
});

describe('proveImap', () => {
  class Discovery extends MailDiscovery {
    constructor(private readonly candidates: readonly MailCandidate[]) {
      super();
    }

    known(): null {
      return null;
    }

    discover(): Promise<DiscoveredMail> {
      return Promise.resolve({ known: null, candidates: this.candidates });
    }
  }
  const candidate = (change: object = {}, confirm = false): MailCandidate => ({
    source: 'srv',
    confirm,
    servers: {
      imap_host: 'mail.company.example',
      imap_port: 993,
      imap_security: 'tls',
      imap_username: ADA,
      smtp_host: 'mail.company.example',
      smtp_port: 465,
      smtp_security: 'tls',
      smtp_username: ADA,
      ...change,
    },
  });
  const prove = (candidates: readonly MailCandidate[], change: object = {}) =>
    proveImap({ email: ADA, settings: settings(change) }, new Discovery(candidates));

  it('accepts the servers that the domain names', async () => {
    expect(await prove([candidate({ imap_host: 'other.example' }), candidate()])).toBe('discovery');
    expect(await prove([candidate({ imap_username: 'ada' })], { imap_username: 'ada' })).toBe(
      'discovery',
    );
  });

  it.each([
    ['nothing was found', [], {}],
    ['a user would have to confirm the servers', [candidate({}, true)], {}],
    ['the domain names another server', [candidate({ imap_host: 'other.example' })], {}],
    ['the domain names another port', [candidate({ imap_port: 10_993 })], {}],
    ["the login is another user's", [candidate()], { imap_username: 'eve@company.example' }],
    [
      'the login is another short name',
      [candidate({ imap_username: 'ada' })],
      { imap_username: 'eve' },
    ],
  ])('proves nothing if %s', async (_, candidates, change) => {
    expect(await prove(candidates, change)).toBeNull();
  });
});
