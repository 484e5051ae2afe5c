import { credentialsPage } from '../pages/sign-in.pages.ts';
import { settingsOf, typedIn } from './sign-in-credentials.ts';

const GIVEN = {
  imap_host: 'imap.example.test',
  imap_port: 993,
  smtp_host: 'relay.example.test',
  smtp_username: 'relay',
  smtp_password: 'of the application',
  caldav_url: 'https://dav.example.test/',
  smtp_files_sent: true,
};
/** Form that a browser sends from the page that shows the given servers. */
const PAGE = {
  email: 'ada@example.test',
  password: 'of ada',
  imap_host: 'imap.example.test',
  imap_port: '993',
  smtp_host: 'relay.example.test',
  smtp_username: 'relay',
  caldav_url: 'https://dav.example.test/',
};
const FORM = { heading: '', passwordHint: '', passwordRequired: true, servers: true };
const settings = (change: object = {}, given: object = {}) =>
  settingsOf(typedIn({ ...PAGE, ...change }), FORM, { ...GIVEN, ...given });

describe('the form for address and password', () => {
  it('has exactly the fields that are read when it is sent', () => {
    const values = { caldav_url: 'https://a.test', carddav_url: 'https://a.test' };
    const entry = { offer: 'mail', texts: FORM, values, errors: {}, again: false };
    const asking = { name: 'App', iconUrl: null };
    const page = credentialsPage(asking, { link: 'l', token: 't' }, { ...entry, servers: 'open' });
    const names = [...page.html.matchAll(/<(?:input|select)\b[^>]*?\sname="(\w+)"/g)].map(
      ([, name]) => name,
    );
    expect(new Set(names)).toEqual(new Set(['csrf', 'provider', ...Object.keys(typedIn({}))]));
  });
});

describe('settingsOf', () => {
  it("returns the application's settings if the form is sent unchanged", () => {
    expect(settings()).toEqual({ ...GIVEN, imap_port: '993', password: 'of ada' });
  });

  it('leaves out servers that the user has cleared', () => {
    const { imap_host, imap_port, caldav_url, ...rest } = settings({
      imap_host: '',
      imap_port: '',
      caldav_url: '',
    });
    expect([imap_host, imap_port, caldav_url]).toEqual([undefined, undefined, undefined]);
    expect(rest).toMatchObject({ smtp_host: 'relay.example.test', smtp_files_sent: true });
  });

  it.each([
    ['another server', { smtp_host: 'evil.example' }],
    ['another port', { smtp_port: '2525' }],
    ['another user', { smtp_username: 'eve' }],
    ['no encryption', { smtp_security: 'none' }],
    ['a server that must be discovered', { smtp_host: '' }],
  ])("does not send the application's SMTP password to %s", (_, change) => {
    expect(settings(change)).not.toHaveProperty('smtp_password');
  });

  it('uses the typed password and no other credentials', () => {
    const given = { password: 'x', imap_password: 'y', refresh_token: 'z' };
    expect(settings({}, given)).toEqual(settings());
  });
});
