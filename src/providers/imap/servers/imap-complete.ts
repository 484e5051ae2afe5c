import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import type { ProviderAccount } from '../../port/connector.ts';
import type {
  DiscoveredMail,
  MailDiscovery,
  MailServers,
} from '../../port/sign-in/mail-discovery.ts';
import {
  domainOf,
  type ImapPreset,
  presetNamed,
  presetOfDomain,
  presetOfHost,
  serversOf,
} from './imap-presets.ts';
import type { ImapInput, ImapSettings, Security } from '../imap.settings.ts';

/** Complete settings, and where they come from. */
export interface CompletedSettings {
  settings: ImapSettings;
  /** The preset that the servers belong to. `null` if Carillon's table does not contain them. */
  preset: ImapPreset | null;
  /** Names of the settings that the two passwords were taken from. */
  passwordsFrom: { imap: string; smtp: string };
  /** Whether the DAV URLs may come from discovery. Such URLs are dropped if they do not work. */
  davWasFound: boolean;
}

type Account = Pick<ProviderAccount, 'email' | 'accessToken'>;
type Kind = 'imap' | 'smtp';

const USUAL_PORTS = {
  imap: { tls: 993, starttls: 143, none: 143 },
  smtp: { tls: 465, starttls: 587, none: 587 },
} as const;
const TLS_PORTS = [993, 465];
const STARTTLS_PORTS = [143, 587, 25, 2525];

/**
 * Completes the settings of a request. A server named in the request is used unchanged. A server
 * that is not named comes from the given preset, from Carillon's table, or from discovery.
 * Calendars and address books are looked for only if the IMAP server is not named either, so that a
 * password is never sent to a server it was not meant for.
 * @throws {ProviderError} `unsupported` if a part is missing and cannot be found
 */
export async function completeSettings(
  input: ImapInput,
  account: Account,
  discovery: MailDiscovery,
): Promise<CompletedSettings> {
  const base = await baseOf(input, account.email, discovery);
  const passwords = passwordsOf(input, account);
  const user =
    input.imap_username ?? (input.imap_host ? undefined : base?.imap_username) ?? account.email;
  const settings: ImapSettings = {
    ...serverOf('imap', input, base),
    imap_username: user,
    ...(passwords.imap === undefined ? {} : { imap_password: passwords.imap }),
    ...serverOf('smtp', input, base),
    smtp_username:
      input.smtp_username ?? (input.imap_username ? user : (base?.smtp_username ?? user)),
    ...(passwords.smtp === undefined ? {} : { smtp_password: passwords.smtp }),
    ...filesSentOf(input, base),
    ...davOf(input, base),
  };
  const passwordName =
    input.password !== undefined || input.preset !== undefined ? 'password' : 'imap_password';
  return {
    settings,
    preset: presetOfHost(settings.imap_host) ?? null,
    passwordsFrom: {
      imap: input.imap_password === undefined ? passwordName : 'imap_password',
      smtp: input.smtp_password === undefined ? passwordName : 'smtp_password',
    },
    davWasFound: input.imap_host === undefined,
  };
}

/** @throws {ProviderError} if there is no password and the account has no access token */
function passwordsOf(input: ImapInput, { accessToken }: Account): { imap?: string; smtp?: string } {
  const imap = input.imap_password ?? input.password;
  if (imap === undefined && accessToken !== undefined) return {};
  if (imap === undefined) {
    const setting = input.imap_host === undefined ? 'password' : 'imap_password';
    throw new ProviderError('unsupported', 'is required, also when the server changes', {
      setting,
    });
  }
  return { imap, smtp: input.smtp_password ?? input.password ?? imap };
}

/** The servers for parts that the request does not name. `undefined` if it names both servers. */
async function baseOf(
  input: ImapInput,
  email: string,
  discovery: MailDiscovery,
): Promise<MailServers | undefined> {
  if (input.imap_host && input.smtp_host) return undefined;
  const preset =
    (input.preset === undefined ? undefined : presetNamed(input.preset)) ??
    presetOfHost(input.imap_host ?? input.smtp_host ?? '') ??
    presetOfDomain(domainOf(email));
  if (preset) return serversOf(preset, email);
  const found = await discovery.discover(email);
  const [candidate] = found.candidates.filter(({ confirm }) => !confirm);
  if (!candidate) throw notFound(input, email, found);
  return candidate.servers;
}

function notFound(input: ImapInput, email: string, { candidates }: DiscoveredMail): ProviderError {
  const kind: Kind = input.imap_host ? 'smtp' : 'imap';
  const [unconfirmed] = candidates;
  const message = unconfirmed
    ? `The domain of ${email} names ${unconfirmed.servers.imap_host} and ${unconfirmed.servers.smtp_host}, but this is not proven: give imap_host and smtp_host if these servers are correct`
    : `No mail servers were found for ${email}: give imap_host and smtp_host`;
  return new ProviderError('unsupported', message, { setting: `${kind}_host` });
}

interface ServerParts {
  host: string;
  port: number;
  security: Security;
}

function serverOf<K extends Kind>(kind: K, input: ImapInput, base: MailServers | undefined) {
  const host = input[`${kind}_host`];
  const known: ServerParts | undefined = base && {
    host: base[`${kind}_host`],
    port: base[`${kind}_port`],
    security: base[`${kind}_security`],
  };
  const own = { port: input[`${kind}_port`], security: input[`${kind}_security`] };
  const isKnown = known !== undefined && (host === undefined || host === known.host);
  const parts =
    isKnown && own.port === undefined && own.security === undefined
      ? known
      : { ...completed(kind, own, input) };
  return {
    [`${kind}_host`]: host ?? known?.host ?? '',
    [`${kind}_port`]: parts.port,
    [`${kind}_security`]: parts.security,
  } as Record<`${K}_host`, string> &
    Record<`${K}_port`, number> &
    Record<`${K}_security`, Security>;
}

/**
 * Derives port and security from each other. If neither is given: TLS for IMAP and STARTTLS for
 * submission, which most servers offer.
 */
function completed(
  kind: Kind,
  { port, security }: { port: number | undefined; security: Security | undefined },
  { ssl_required: sslRequired }: ImapInput,
): Omit<ServerParts, 'host'> {
  if (security) return { security, port: port ?? USUAL_PORTS[kind][security] };
  if (port === undefined) {
    return kind === 'imap' ? { security: 'tls', port: 993 } : { security: 'starttls', port: 587 };
  }
  if (TLS_PORTS.includes(port)) return { security: 'tls', port };
  if (STARTTLS_PORTS.includes(port)) return { security: 'starttls', port };
  return { security: sslRequired === false ? 'starttls' : 'tls', port };
}

function filesSentOf(
  input: ImapInput,
  base: MailServers | undefined,
): { smtp_files_sent?: boolean } {
  const preset = presetOfHost(input.smtp_host ?? '');
  const filesSent =
    input.smtp_files_sent ?? (input.smtp_host ? preset?.filesSent : base?.smtp_files_sent);
  return filesSent === undefined ? {} : { smtp_files_sent: filesSent };
}

function davOf(
  input: ImapInput,
  base: MailServers | undefined,
): { caldav_url?: string; carddav_url?: string } {
  const found = input.imap_host === undefined ? base : undefined;
  const caldavUrl = input.caldav_url ?? found?.caldav_url;
  const carddavUrl = input.carddav_url ?? found?.carddav_url;
  return {
    ...(caldavUrl ? { caldav_url: caldavUrl } : {}),
    ...(carddavUrl ? { carddav_url: carddavUrl } : {}),
  };
}

/**
 * Each setting that decides where a password is sent, with the passwords that a change must contain
 * to alter it.
 */
const DESTINATIONS = [
  ['imap_host', ['imap_password', 'password']],
  ['smtp_host', ['smtp_password', 'imap_password', 'password']],
  ['caldav_url', ['imap_password', 'password']],
  ['carddav_url', ['imap_password', 'password']],
] as const;

/**
 * Applies a change to stored settings. The result must be completed and verified again. A stored
 * password is never sent to another server, because the user who changes the settings may not know
 * it. A change of the server must therefore contain the password.
 * @param change as given in the request, not validated yet
 * @throws {ProviderError} `unsupported` if the change names another server without a password for
 *   it
 */
export function mergeImapSettings(
  stored: Readonly<Record<string, unknown>>,
  change: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const has = (name: string) => change[name] !== undefined && change[name] !== null;
  if (has('preset')) return { ...change };
  const isMoved = (destination: string) =>
    has(destination) && !isSameServer(change[destination], stored[destination]);
  for (const [destination, passwords] of DESTINATIONS) {
    if (isMoved(destination) && !passwords.some(has)) {
      throw new ProviderError('unsupported', `is required when ${destination} changes`, {
        setting: passwords[0],
      });
    }
  }
  const kept: Record<string, unknown> = { ...stored };
  for (const kind of ['imap', 'smtp'] as const) {
    const moved = isMoved(`${kind}_host`);
    if (moved || has(`${kind}_security`)) delete kept[`${kind}_port`];
    if (moved || has(`${kind}_port`)) delete kept[`${kind}_security`];
  }
  if (has('password')) delete kept['imap_password'];
  const isShared = has('imap_password') && hasOneLogin(stored);
  if (has('password') || isShared || isMoved('smtp_host')) delete kept['smtp_password'];
  if (isMoved('smtp_host')) delete kept['smtp_files_sent'];
  return { ...kept, ...withoutEmptyHosts(change) };
}

/**
 * A host given as `null` stays unchanged. Discovering another one would send the stored password
 * there.
 */
function withoutEmptyHosts(change: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const isEmpty = ([name, value]: [string, unknown]) =>
    (name === 'imap_host' || name === 'smtp_host') && (value === null || value === undefined);
  return Object.fromEntries(Object.entries(change).filter((entry) => !isEmpty(entry)));
}

/** Whether sending uses the same login as the mailbox. */
function hasOneLogin(stored: Readonly<Record<string, unknown>>): boolean {
  return (
    stored['smtp_password'] === stored['imap_password'] &&
    stored['smtp_username'] === stored['imap_username']
  );
}

/** Compares hosts, or the origins of URLs. */
function isSameServer(one: unknown, other: unknown): boolean {
  const originOf = (value: unknown) => {
    const text = String(value).trim().toLowerCase();
    return text.includes('/') && URL.canParse(text) ? new URL(text).origin : text;
  };
  return originOf(one) === originOf(other);
}
