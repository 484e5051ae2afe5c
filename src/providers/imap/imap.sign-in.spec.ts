import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { ConnectorRegistry } from '../port/connector-registry.ts';
import type { Connector } from '../port/connector.ts';
import { imapNativeSettings, imapSignIn } from './imap.sign-in.ts';

const imap = { name: 'imap', signIn: imapSignIn, nativeSettings: imapNativeSettings };
const registry = new ConnectorRegistry([imap as unknown as Connector]);
const toNativeAccount = (name: string, settings: Record<string, unknown>) =>
  registry.native(name, settings);

const refusal = (provider: string, settings: object = {}) => {
  try {
    return toNativeAccount(provider, settings as Record<string, unknown>);
  } catch (error) {
    if (error instanceof InvalidInputError) return error.message;
    throw error;
  }
};

describe('names of native sign-in', () => {
  it.each(['sandbox', 'imap', 'google', 'nobody'])('leaves provider %s unchanged', (provider) => {
    const settings = { password: 'x' };
    expect(toNativeAccount(provider, settings)).toEqual({ provider, settings });
  });

  it.each(['gmail', 'yahoo', 'icloud', 'aol', 'hotmail', 'outlook', 'office365'])(
    'turns %s into an imap account with the preset of that name',
    (provider) => {
      expect(toNativeAccount(provider, { password: 'x' })).toEqual({
        provider: 'imap',
        settings: { password: 'x', preset: provider },
      });
    },
  );

  it('prefers settings that name a server to the preset', () => {
    const settings = { imap_host: 'imap.own.test', password: 'x' };
    expect(toNativeAccount('yahoo', settings)).toEqual({ provider: 'imap', settings });
  });

  it.each([
    ['gmail', { google_refresh_token: 't' }, 'settings.google_refresh_token: tokens'],
    ['gmail', { service_account_json: {} }, 'settings.service_account_json'],
    [
      'office365',
      { microsoft_refresh_token: 't', password: 'x' },
      'settings.microsoft_refresh_token',
    ],
    ['graph', { password: 'x' }, 'provider: graph'],
    ['exchange', { username: 'u', password: 'x' }, 'settings.imap_host'],
    [
      'exchange',
      { username: 'u', password: 'x', eas_server_host: 'eas.test' },
      'not by ActiveSync',
    ],
    ['exchange', { service_account: {}, imap_host: 'i.test' }, 'settings.service_account'],
    ['eas', { password: 'x' }, 'settings.imap_host'],
  ])('explains why %s with %j cannot be connected', (provider, settings, words) => {
    expect(refusal(provider, settings)).toContain(words);
  });

  it('does not repeat a refused token in the error', () => {
    expect(refusal('gmail', { google_refresh_token: 'secret-token' })).not.toContain(
      'secret-token',
    );
  });

  it('connects an exchange server by IMAP with its user name', () => {
    const settings = {
      username: 'corp\\ada',
      password: 'x',
      imap_host: 'mail.corp.test',
      smtp_host: 'mail.corp.test',
    };
    const { username, ...servers } = settings;
    expect(toNativeAccount('exchange', settings)).toEqual({
      provider: 'imap',
      settings: { ...servers, imap_username: username },
    });
    // The other one has no effect, and is reported as an unknown setting.
    const both = { ...settings, imap_username: 'ada' };
    expect(toNativeAccount('exchange', both).settings).toEqual(both);
  });

  it('turns every native name into imap or refuses it', () => {
    for (const name of imapSignIn.names) {
      const outcome = refusal(name);
      if (typeof outcome !== 'string') expect(outcome.provider).toBe('imap');
    }
  });
});
