import { ConsoleLogger, Logger } from '@nestjs/common';
import { DomainError } from '../../../platform/base/errors/domain-error.ts';
import type { Connector } from '../../../providers/port/connector.ts';
import type { MailDiscovery } from '../../../providers/port/sign-in/mail-discovery.ts';
import {
  ProviderError,
  type ProviderErrorCode,
} from '../../../platform/base/errors/provider-error.ts';
import { ChosenServers, namesTried, UnusableServersError } from './chosen-servers.ts';

const discovery = {
  known: (email: string) => (email.endsWith('@known.test') ? { preset: 'known' } : null),
} as unknown as MailDiscovery;
/** A connector whose users may name servers, and one whose users may not. */
const connectors = {
  find: (name: string) =>
    ({ signIn: { password: { servers: name === 'imap' } } }) as unknown as Connector,
};
const servers = new ChosenServers(discovery, connectors);
const TYPED = {
  applicationId: 'an application',
  provider: 'imap',
  email: 'ada@example.test',
  settings: { imap_host: 'imap.example.test' },
};
const failure = (code: ProviderErrorCode, setting: string | null, byConnecting = true) => {
  const cause = new ProviderError(code, 'the reason', {
    ...(setting ? { setting } : {}),
    ...(byConnecting ? { cause: new Error('of the socket') } : {}),
  });
  return new DomainError('x', 'invalid', 'message', { cause });
};
const isHidden = (error: unknown, change: object = {}) =>
  servers.withoutDetails(error, { ...TYPED, ...change }) instanceof UnusableServersError;

beforeAll(() => Logger.overrideLogger(false));
afterAll(() => Logger.overrideLogger(new ConsoleLogger()));

describe('ChosenServers.withoutDetails', () => {
  it.each([
    ['a closed port', 'unsupported', 'imap_port'],
    ['a silent port', 'temporary', 'imap_port'],
    ['a private address', 'unsupported', 'smtp_host'],
    ['another protocol', 'unsupported', 'smtp_port'],
    ['a server that refuses the connection', 'temporary', 'imap_host'],
    ['a missing mailbox', 'not-found', 'imap_host'],
    ['calendars that refuse the login', 'auth-invalid', 'caldav_url'],
    ['address books at another place', 'rejected', 'carddav_url'],
    ['a failure without a setting', 'temporary', null],
  ] as const)('hides the reason for %s', (_, code, setting) => {
    expect(isHidden(failure(code, setting))).toBe(true);
    // Servers are also chosen by the domain of an address.
    expect(isHidden(failure(code, setting), { settings: {} })).toBe(true);
  });

  it('shows that the login was refused, and which settings are missing', () => {
    expect(isHidden(failure('auth-invalid', 'imap_password'))).toBe(false);
    expect(isHidden(failure('unsupported', 'imap_host', false))).toBe(false);
    expect(isHidden(new DomainError('x', 'invalid', 'settings.imap_port: must be a number'))).toBe(
      false,
    );
    expect(isHidden(new Error('an unexpected error'))).toBe(false);
  });

  it('shows all details of well-known servers, and of providers without servers', () => {
    const known = { email: 'ada@known.test', settings: {} };
    expect(isHidden(failure('temporary', 'imap_port'), known)).toBe(false);
    expect(isHidden(failure('temporary', 'imap_port'), { settings: { preset: 'gmail' } })).toBe(
      false,
    );
    expect(isHidden(failure('temporary', null), { provider: 'sandbox' })).toBe(false);
    const typed = {
      email: 'ada@known.test',
      settings: { preset: 'gmail', smtp_host: '192.0.2.1' },
    };
    expect(isHidden(failure('temporary', 'smtp_port'), typed)).toBe(true);
  });
});

it('namesTried returns the address and every user name in the settings', () => {
  const settings = { imap_username: 'ada', smtp_username: 'bo', username: 7, password: 'x' };
  expect(namesTried('ada@example.test', settings)).toEqual(['ada@example.test', 'ada', 'bo']);
});
