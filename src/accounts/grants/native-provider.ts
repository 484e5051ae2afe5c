import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';

/**
 * Provider names that native sign-in accepts in addition to the names of connectors. All of them
 * become accounts of `imap`; `exchange` and `eas` only if the company's server offers IMAP.
 */
export const NATIVE_NAMES = [
  'gmail', 'yahoo', 'icloud', 'aol', 'hotmail', 'outlook', 'office365', 'exchange', 'eas', 'graph',
] as const; // prettier-ignore

/**
 * Settings with credentials of an OAuth application, or of a protocol that Carillon does not
 * support.
 */
const OAUTH_SETTINGS = [
  'google_refresh_token', 'google_client_id', 'google_client_secret', 'service_account_json', 'service_account',
  'microsoft_refresh_token', 'microsoft_client_id', 'microsoft_client_secret',
] as const; // prettier-ignore
const EXCHANGE = ['exchange', 'eas'];

/** Name of a connector and the settings for it. */
export interface NativeAccount {
  provider: string;
  settings: Readonly<Record<string, unknown>>;
}

/**
 * Translates the provider name and settings of a native sign-in for a connector. A well-known name
 * becomes the preset of that name, unless the settings name a server.
 * @throws {InvalidInputError} for accounts that cannot be connected with a password
 */
export function toNativeAccount(
  provider: string,
  settings: Readonly<Record<string, unknown>>,
): NativeAccount {
  if (!(NATIVE_NAMES as readonly string[]).includes(provider)) return { provider, settings };
  const token = OAUTH_SETTINGS.find(
    (name) => settings[name] !== undefined && settings[name] !== null,
  );
  if (token) {
    throw new InvalidInputError(
      `settings.${token}: tokens and keys of another application are not accepted: let the user sign in on a page (GET /oauth/authorize, POST /connect/auth), or give settings.password (an app password)`,
    );
  }
  const isNamed = typeof settings['imap_host'] === 'string';
  if (provider === 'graph') {
    throw new InvalidInputError(
      'provider: graph has no sign-in with a password: use office365, or a sign-in page',
    );
  }
  if (!EXCHANGE.includes(provider)) {
    return { provider: 'imap', settings: isNamed ? settings : { ...settings, preset: provider } };
  }
  if (!isNamed) {
    throw new InvalidInputError(
      `provider: ${provider} servers are reached by IMAP and SMTP here, not by ActiveSync or EWS: give settings.imap_host and settings.smtp_host, or use office365`,
      { missingFields: ['settings.imap_host', 'settings.smtp_host'] },
    );
  }
  const { username } = settings;
  return {
    provider: 'imap',
    settings: { ...(username === undefined ? {} : { imap_username: username }), ...settings },
  };
}
