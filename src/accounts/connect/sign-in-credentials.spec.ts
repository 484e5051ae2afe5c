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
/** What a browser sends of the page that shows the given servers. */
const PAGE = {
  email: 'ada@example.test',
  password: 'of ada',
  imap_host: 'imap.example.test',
  imap_port: '993',
  smtp_host: 'relay.example.test',
  smtp_username: 'relay',
  caldav_url: 'https://dav.example.test/',
};
const settings = (change: object = {}, given: object = {}) =>
  settingsOf(typedIn({ ...PAGE, ...change }), 'imap', { ...GIVEN, ...given });

describe('settings of a sign-in', () => {
  it('are those the application has given, where the page is sent as it was shown', () => {
    expect(settings()).toEqual({ ...GIVEN, imap_port: '993', password: 'of ada' });
  });

  it('have no server that was emptied on the page', () => {
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
    ['a server that is to be found', { smtp_host: '' }],
  ])("send the application's password for sending not to %s", (_, change) => {
    expect(settings(change)).not.toHaveProperty('smtp_password');
  });

  it('have the password that was typed, and no other credentials', () => {
    const given = { password: 'x', imap_password: 'y', refresh_token: 'z' };
    expect(settings({}, given)).toEqual(settings());
  });
});
