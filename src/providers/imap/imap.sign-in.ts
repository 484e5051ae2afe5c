import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import type { AddressProof } from '../port/sign-in/address-proof.ts';
import type { SignedInMailbox } from '../port/connector.ts';
import type { MailDiscovery } from '../port/sign-in/mail-discovery.ts';
import type { DetectedProvider, SignInDescriptor } from '../port/sign-in/sign-in-descriptor.ts';
import { imapMailbox } from './servers/imap-ownership.ts';

/**
 * Provider names that native sign-in accepts for mail servers; `exchange` and `eas` only if the
 * company's server offers IMAP.
 */
const NAMES = [
  'gmail',
  'yahoo',
  'icloud',
  'aol',
  'hotmail',
  'outlook',
  'office365',
  'exchange',
  'eas',
  'graph',
] as const;

/** Any mail provider, with address and password. */
export const imapSignIn: SignInDescriptor = {
  order: 30,
  title: 'Email and password',
  hint: 'Any mail provider, by IMAP and SMTP',
  password: {
    heading: 'Sign in to your mailbox',
    passwordHint: 'With two-step verification, many providers require an app password here.',
    passwordRequired: true,
    servers: true,
  },
  withoutIntegration: 'always',
  names: NAMES,
  namedByIntegration: true,
};

/** Settings with credentials of an OAuth application, or of a protocol that is not supported. */
const OAUTH_SETTINGS = [
  'google_refresh_token',
  'google_client_id',
  'google_client_secret',
  'service_account_json',
  'service_account',
  'microsoft_refresh_token',
  'microsoft_client_id',
  'microsoft_client_secret',
] as const;
const EXCHANGE = ['exchange', 'eas'];

/**
 * See `Connector.nativeSettings`. A well-known name becomes the preset of that name, unless the
 * settings name a server.
 * @throws {InvalidInputError} for accounts that cannot be connected with a password
 */
export function imapNativeSettings(
  name: string,
  settings: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const token = OAUTH_SETTINGS.find((key) => settings[key] !== undefined && settings[key] !== null);
  if (token) {
    throw new InvalidInputError(
      `settings.${token}: tokens and keys of another application are not accepted: let the user sign in on a page (GET /oauth/authorize, POST /connect/auth), or give settings.password (an app password)`,
    );
  }
  const isNamed = typeof settings['imap_host'] === 'string';
  if (name === 'graph') {
    throw new InvalidInputError(
      'provider: graph has no sign-in with a password: use office365, or a sign-in page',
    );
  }
  if (!EXCHANGE.includes(name)) return isNamed ? settings : { ...settings, preset: name };
  if (!isNamed) {
    throw new InvalidInputError(
      `provider: ${name} servers are reached by IMAP and SMTP here, not by ActiveSync or EWS: give settings.imap_host and settings.smtp_host, or use office365`,
      { missingFields: ['settings.imap_host', 'settings.smtp_host'] },
    );
  }
  const { username, ...others } = settings;
  const isLogin = username !== undefined && (settings['imap_username'] ?? null) === null;
  return isLogin ? { ...others, imap_username: username } : settings;
}

/**
 * The provider of an address, from the table of well-known providers or the servers of its domain.
 */
export async function detectImap(
  email: string,
  discovery: MailDiscovery,
): Promise<DetectedProvider | null> {
  const { known, candidates } = await discovery.discover(email);
  if (known) return { providerName: known.providerName, isImap: known.oauth === null };
  return candidates.length > 0 ? { providerName: 'imap', isImap: true } : null;
}

/** See `Connector.provenByIntegration`. */
export function provenByServers(
  { email, settings, claimedEmail }: SignedInMailbox,
  integration: Readonly<Record<string, unknown>>,
): AddressProof | null {
  if (!integration['imap_host']) return null;
  const own = { ...integration, imap_username: email };
  if (imapMailbox({ email, settings: own }) !== imapMailbox({ email, settings })) return null;
  return claimedEmail === email ? 'oauth' : 'integration';
}
