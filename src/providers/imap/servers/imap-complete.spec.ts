import type {
  DiscoveredMail,
  MailCandidate,
  MailServers,
} from '../../port/sign-in/mail-discovery.ts';
import { MailDiscovery } from '../../port/sign-in/mail-discovery.ts';
import { completeSettings, mergeImapSettings } from './imap-complete.ts';
import { imapInput } from '../imap.settings.ts';

const FOUND: MailServers = {
  imap_host: 'imap.found.test',
  imap_port: 993,
  imap_security: 'tls',
  imap_username: 'ada',
  smtp_host: 'smtp.found.test',
  smtp_port: 465,
  smtp_security: 'tls',
  smtp_username: 'ada-smtp',
  caldav_url: 'https://dav.found.test/',
};

class Finds extends MailDiscovery {
  asked = 0;
  constructor(private readonly candidates: Partial<MailCandidate>[]) {
    super();
  }
  known() {
    return null;
  }
  discover(): Promise<DiscoveredMail> {
    this.asked += 1;
    const whole = { source: 'autoconfig', servers: FOUND, confirm: false } as const;
    return Promise.resolve({
      known: null,
      candidates: this.candidates.map((one) => ({ ...whole, ...one })),
    });
  }
}

const complete = (
  settings: object,
  email = 'ada@example.test',
  discovery = new Finds([{}]),
  accessToken?: string,
) =>
  completeSettings(
    imapInput.parse(settings),
    { email, ...(accessToken ? { accessToken } : {}) },
    discovery,
  );
const problem = (promise: Promise<unknown>) => promise.catch((error: unknown) => error);

describe('completeSettings', () => {
  it('needs only a password for a provider of the table and uses no network', async () => {
    const discovery = new Finds([]);
    const { settings, preset, passwordsFrom } = await complete(
      { password: 'x' },
      'ada@yahoo.com',
      discovery,
    );
    expect(settings).toMatchObject({
      imap_host: 'imap.mail.yahoo.com',
      imap_username: 'ada@yahoo.com',
      imap_password: 'x',
      smtp_password: 'x',
    });
    expect(preset?.preset).toBe('yahoo');
    expect(passwordsFrom).toEqual({ imap: 'password', smtp: 'password' });
    expect(discovery.asked).toBe(0);
  });

  it('prefers the given preset to that of the domain', async () => {
    const { settings } = await complete({ password: 'x', preset: 'fastmail' }, 'ada@yahoo.com');
    expect(settings).toMatchObject({
      imap_host: 'imap.fastmail.com',
      smtp_host: 'smtp.fastmail.com',
    });
  });

  it('discovers the servers if the request names none', async () => {
    const { settings, davWasFound } = await complete({ imap_password: 'x' });
    expect(settings).toEqual({ ...FOUND, imap_password: 'x', smtp_password: 'x' });
    expect(davWasFound).toBe(true);
  });

  it('uses no discovery if both servers are named, and adds no calendars', async () => {
    const discovery = new Finds([{}]);
    const { settings, davWasFound } = await complete(
      {
        imap_host: 'Imap.Own.test',
        imap_port: '143',
        imap_username: 'a',
        imap_password: 'x',
        smtp_host: 'smtp.own.test',
        smtp_port: 25,
        ssl_required: 'true',
      },
      undefined,
      discovery,
    );
    expect(settings).toEqual({
      imap_host: 'imap.own.test',
      imap_port: 143,
      imap_security: 'starttls',
      imap_username: 'a',
      imap_password: 'x',
      smtp_host: 'smtp.own.test',
      smtp_port: 25,
      smtp_security: 'starttls',
      smtp_username: 'a',
      smtp_password: 'x',
    });
    expect([discovery.asked, davWasFound]).toEqual([0, false]);
  });

  it('completes a server that is not named, and never sends a password to calendars of another server', async () => {
    const { settings } = await complete({ imap_host: 'imap.own.test', imap_password: 'x' });
    expect(settings).toMatchObject({ imap_host: 'imap.own.test', smtp_host: 'smtp.found.test' });
    expect(settings.caldav_url).toBeUndefined();
  });

  it.each([
    [{}, 993, 'tls', 587, 'starttls'],
    [{ imap_port: 143, smtp_port: 465 }, 143, 'starttls', 465, 'tls'],
    [{ imap_security: 'starttls', smtp_security: 'tls' }, 143, 'starttls', 465, 'tls'],
    [{ imap_port: 10143, smtp_port: 2525 }, 10143, 'tls', 2525, 'starttls'],
    [
      { imap_port: 10143, smtp_port: 10587, ssl_required: false },
      10143,
      'starttls',
      10587,
      'starttls',
    ],
    [{ imap_port: 993, imap_security: 'none', ssl_required: true }, 993, 'none', 587, 'starttls'],
  ])('derives port and security from each other: %j', async (given, ...expected) => {
    const { settings } = await complete({
      imap_host: 'i.test',
      smtp_host: 's.test',
      password: 'x',
      ...given,
    });
    expect([
      settings.imap_port,
      settings.imap_security,
      settings.smtp_port,
      settings.smtp_security,
    ]).toEqual(expected);
  });

  it('keeps separate passwords separate', async () => {
    const { settings, passwordsFrom } = await complete({ imap_password: 'a', smtp_password: 'b' });
    expect(settings).toMatchObject({ imap_password: 'a', smtp_password: 'b' });
    expect(passwordsFrom).toEqual({ imap: 'imap_password', smtp: 'smtp_password' });
  });

  it('stores no password for an account that signed in by OAuth', async () => {
    const { settings } = await complete({}, 'ada@gmail.com', undefined, 'token');
    expect(settings).not.toHaveProperty('imap_password');
    expect(settings).not.toHaveProperty('smtp_password');
    expect(settings.smtp_files_sent).toBe(true);
  });

  it('names the missing setting', async () => {
    expect(await problem(complete({}))).toMatchObject({ code: 'unsupported', setting: 'password' });
    expect(await problem(complete({ imap_host: 'i.test', smtp_host: 's.test' }))).toMatchObject({
      setting: 'imap_password',
    });
    expect(await problem(complete({ password: 'x' }, undefined, new Finds([])))).toMatchObject({
      setting: 'imap_host',
    });
    expect(
      await problem(complete({ password: 'x', imap_host: 'i.test' }, undefined, new Finds([]))),
    ).toMatchObject({ setting: 'smtp_host' });
  });

  it('sends no password to servers that only DNS names, and reports these servers', async () => {
    const error = await problem(
      complete({ password: 'x' }, undefined, new Finds([{ confirm: true }])),
    );
    expect(error).toMatchObject({ code: 'unsupported', setting: 'imap_host' });
    expect((error as Error).message).toContain('imap.found.test');
    const { settings } = await complete(
      { password: 'x' },
      undefined,
      new Finds([{ confirm: true }, { servers: { ...FOUND, imap_host: 'mail.example.test' } }]),
    );
    expect(settings.imap_host).toBe('mail.example.test');
  });

  it.each([
    [{ preset: 'nobody' }, 'preset'],
    [{ imap_port: 0 }, 'imap_port'],
    [{ imap_port: 'x' }, 'imap_port'],
    [{ imap_security: 'ssl' }, 'imap_security'],
    [{ imap_host: '' }, 'imap_host'],
    [{ imap_host: 'a b' }, 'imap_host'],
    [{ imap_host: 'https://imap.example.test' }, 'imap_host'],
    [{ ssl_required: 'perhaps' }, 'ssl_required'],
    [{ caldav_url: 'file:///etc/passwd' }, 'caldav_url'],
    [{ password: 5 }, 'password'],
  ])('refuses %j', (given, name) => {
    expect(imapInput.safeParse(given).error?.issues[0]?.path).toEqual([name]);
  });

  it('treats null as absent', () => {
    expect(
      imapInput.parse({ imap_host: null, caldav_url: null, ssl_required: null, more: 1 }),
    ).toEqual({});
  });
});

describe('mergeImapSettings', () => {
  const stored = { ...FOUND, imap_password: 'old', smtp_password: 'old', smtp_username: 'ada' };

  it.each([[{ password: 'new' }], [{ imap_password: 'new' }]])(
    'replaces the password alone: %j',
    async (change) => {
      const { settings } = await complete(mergeImapSettings(stored, change));
      expect(settings).toEqual({ ...stored, imap_password: 'new', smtp_password: 'new' });
    },
  );

  it.each([
    [{ imap_host: null }],
    [{ smtp_host: null }],
    [{ imap_host: undefined, smtp_host: null }],
  ])('discovers no other server for a stored password: %j', (change) => {
    const elsewhere = { ...stored, imap_host: 'imap.kept.test', smtp_host: 'smtp.kept.test' };
    expect(mergeImapSettings(elsewhere, change)).toEqual(elsewhere);
  });

  it('keeps a separate password for sending', async () => {
    const { settings } = await complete(
      mergeImapSettings({ ...stored, smtp_password: 'own' }, { imap_password: 'new' }),
    );
    expect(settings).toMatchObject({ imap_password: 'new', smtp_password: 'own' });
  });

  it.each([
    [{ imap_host: 'evil.test' }, 'imap_password'],
    [{ imap_host: 'evil.test', smtp_password: 'new' }, 'imap_password'],
    [{ smtp_host: 'evil.test' }, 'smtp_password'],
    [{ caldav_url: 'https://evil.test/' }, 'imap_password'],
    [{ caldav_url: 'https://dav.found.test:8443/' }, 'imap_password'],
    [{ carddav_url: 'https://evil.test/' }, 'imap_password'],
    [{ caldav_url: 'https://dav.found.test@evil.test/' }, 'imap_password'],
  ])('sends no stored password to another server: %j', (change, setting) => {
    let refusal: unknown;
    try {
      mergeImapSettings(stored, change);
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toMatchObject({ code: 'unsupported', setting });
  });

  it.each([
    [{ preset: 'gmail' }],
    [{ smtp_host: 'evil.test', imap_password: 'new' }],
    [{ imap_host: 'evil.test', imap_password: 'new' }],
  ])('completes to settings without a stored password for another server: %j', async (change) => {
    const outcome = await complete(mergeImapSettings(stored, change)).then(
      ({ settings }) => settings,
      () => null,
    );
    if (outcome?.smtp_host !== FOUND.smtp_host) expect(outcome?.smtp_password).not.toBe('old');
    if (outcome?.imap_host !== FOUND.imap_host) expect(outcome?.imap_password).not.toBe('old');
  });

  it('accepts the same server, and another path of the same origin, without a password', async () => {
    const change = { imap_host: ' IMAP.found.test', caldav_url: 'https://dav.found.test/ada' };
    const { settings } = await complete(mergeImapSettings(stored, change));
    expect(settings).toEqual({ ...stored, caldav_url: 'https://dav.found.test/ada' });
  });

  it('derives the security from a new port, and the port from a new security', async () => {
    const port = await complete(mergeImapSettings(stored, { imap_port: 143 }));
    expect(port.settings).toMatchObject({ imap_port: 143, imap_security: 'starttls' });
    const security = await complete(mergeImapSettings(stored, { smtp_security: 'starttls' }));
    expect(security.settings).toMatchObject({ smtp_port: 587, smtp_security: 'starttls' });
  });

  it('removes calendars', async () => {
    const { settings } = await complete(mergeImapSettings(stored, { caldav_url: null }));
    expect(settings.caldav_url).toBeUndefined();
  });
});
