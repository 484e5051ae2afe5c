import { isIP } from 'node:net';
import {
  domainOf,
  IMAP_PRESETS,
  presetNamed,
  presetOfDomain,
  presetOfExchanger,
  presetOfHost,
  serversOf,
} from './imap-presets.ts';
import { imapSettings } from '../imap.settings.ts';

describe('presets', () => {
  it.each(IMAP_PRESETS.map((preset) => [preset.preset, preset] as const))(
    '%s becomes complete settings of an account once a password is added',
    (_, preset) => {
      const servers = serversOf(preset, 'ada@example.test');
      const whole = { ...servers, imap_password: 'x', smtp_password: 'x' };
      expect(imapSettings.parse(whole)).toEqual(whole);
    },
  );

  it.each(IMAP_PRESETS.map((preset) => [preset.preset, preset] as const))(
    '%s has encrypted servers given by name, with ports that match the encryption',
    (_, { imap, smtp, caldavUrl, carddavUrl }) => {
      expect([imap.port, imap.security]).toEqual([993, 'tls']);
      expect([
        [465, 'tls'],
        [587, 'starttls'],
      ]).toContainEqual([smtp.port, smtp.security]);
      for (const { host } of [imap, smtp]) {
        expect(isIP(host)).toBe(0);
        expect(host).toMatch(/^[a-z0-9.-]+\.[a-z]+$/);
      }
      for (const url of [caldavUrl, carddavUrl]) if (url) expect(url).toMatch(/^https:\/\//);
    },
  );

  it('assign each name, domain and exchanger to one preset', () => {
    for (const list of [
      IMAP_PRESETS.map(({ preset }) => preset),
      IMAP_PRESETS.flatMap(({ domains }) => domains),
      IMAP_PRESETS.flatMap(({ exchangers }) => exchangers),
    ]) {
      expect(new Set(list).size).toBe(list.length);
      for (const name of list) expect(name).toBe(name.toLowerCase());
    }
  });

  it("give a hint for every provider that needs another password than the account's", () => {
    for (const name of ['gmail', 'icloud', 'yahoo', 'aol', 'fastmail']) {
      expect(presetNamed(name)?.hint).toContain('app password');
    }
  });

  it.each(['outlook', 'hotmail', 'office365'])(
    'say of %s when passwords end, for SMTP too, and what to use instead',
    (name) => {
      const hint = presetNamed(name)?.hint;
      expect(hint).toMatch(/SMTP .*end of December 2026/);
      expect(hint).toMatch(
        /provider "microsoft".* OAuth with IMAP\.AccessAsUser\.All and SMTP\.Send/,
      );
    },
  );

  it.each([
    ['gmail.com', 'gmail'],
    ['googlemail.com', 'gmail'],
    ['me.com', 'icloud'],
    ['contoso.onmicrosoft.com', 'office365'],
    ['onmicrosoft.com', undefined],
    ['mail.gmail.com', undefined],
    ['gmail.com.example.test', undefined],
    ['constructor', undefined],
    ['', undefined],
  ])('domain %s: %s', (domain, name) => {
    expect(presetOfDomain(domain)?.preset).toBe(name);
  });

  it.each([
    ['ASPMX.L.GOOGLE.COM.', 'gmail'],
    ['contoso-com.mail.protection.outlook.com', 'office365'],
    ['outlook-com.olc.protection.outlook.com', 'outlook'],
    ['mx-aol.mail.gm0.yahoodns.net', 'aol'],
    ['in1-smtp.messagingengine.com', 'fastmail'],
    ['notgoogle.com', undefined],
    ['google.com.example.test', undefined],
  ])('exchanger %s: %s', (host, name) => {
    expect(presetOfExchanger(host)?.preset).toBe(name);
  });

  it('are found by their servers', () => {
    expect(presetOfHost('imap.mail.yahoo.com')?.preset).toBe('yahoo');
    expect(presetOfHost('smtp.mail.yahoo.com')?.preset).toBe('yahoo');
    expect(presetOfHost('imap.example.test')).toBeUndefined();
  });

  it('returns the domain after the last @', () => {
    expect(domainOf('a@b@Example.TEST')).toBe('example.test');
  });
});
