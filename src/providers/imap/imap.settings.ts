import { z } from 'zod';
import type { ProviderAccount } from '../port/connector.ts';
import type { SmtpServer } from '../smtp/smtp-settings.ts';
import { PRESET_NAMES, presetNamed } from './servers/imap-presets.ts';

/**
 * `tls`: encrypted from the first byte. `starttls`: encrypted before the login, or the server is
 * not used. `none`: unencrypted, only for hosts on the operator's allow-list.
 */
export const SECURITIES = ['tls', 'starttls', 'none'] as const;
export type Security = (typeof SECURITIES)[number];

const host = () =>
  z
    .string()
    .trim()
    .toLowerCase()
    .max(253)
    .regex(/^[a-z0-9._:-]+$/, 'must be a host name or an address');
const PORT = 'must be between 1 and 65535';
const port = () => z.coerce.number(PORT).int(PORT).min(1, PORT).max(65_535, PORT);
const secret = () => z.string().min(1).max(1_000);
const security = () => z.enum(SECURITIES);

/**
 * Settings of an account as they are stored: complete, with one server each. Presets and discovery
 * have filled in what the request omitted. The names are those of the API.
 */
export const imapSettings = z.object({
  imap_host: host(),
  imap_port: port(),
  imap_security: security(),
  imap_username: z.string().min(1).max(500),
  /** Absent if the account signed in by OAuth. */
  imap_password: secret().optional(),
  smtp_host: host(),
  smtp_port: port(),
  smtp_security: security(),
  smtp_username: z.string().min(1).max(500),
  smtp_password: secret().optional(),
  /**
   * Whether the server files sent messages in the Sent folder itself, as Gmail does. Default false.
   */
  smtp_files_sent: z.boolean().optional(),
  /** URL of its calendars; absent if it has none. The login is that of IMAP. */
  caldav_url: z.url({ protocol: /^https?$/ }).optional(),
  /** URL of its address books; absent if it has none. */
  carddav_url: z.url({ protocol: /^https?$/ }).optional(),
});
export type ImapSettings = z.infer<typeof imapSettings>;

/** Settings that are no secrets. */
export const SHOWN_IMAP_SETTINGS = [
  'imap_host',
  'imap_port',
  'imap_security',
  'imap_username',
  'smtp_host',
  'smtp_port',
  'smtp_security',
  'smtp_username',
  'smtp_files_sent',
  'caldav_url',
  'carddav_url',
] as const satisfies readonly (keyof ImapSettings)[];

/** `null` counts as absent. */
const given = <T extends z.ZodType>(schema: T) =>
  schema.nullish().transform((value) => value ?? undefined);
const url = () =>
  z.url({ protocol: /^https?$/, error: 'must be an http or https address' }).max(2_000);

/**
 * Settings as given in a request. Every field is optional; a preset or discovery fills in the rest.
 * Port and security are derived from each other.
 */
export const imapInput = z.object({
  /** Name of a provider in Carillon's table, whose servers are used (docs/providers/imap.md). */
  preset: given(
    z.string().refine((name) => presetNamed(name) !== undefined, {
      error: `must be one of ${PRESET_NAMES.join(', ')}`,
    }),
  ),
  /** Password for IMAP and SMTP, unless they have their own. */
  password: given(secret()),
  imap_host: given(host()),
  imap_port: given(port()),
  imap_security: given(security()),
  imap_username: given(z.string().min(1).max(500)),
  imap_password: given(secret()),
  smtp_host: given(host()),
  smtp_port: given(port()),
  smtp_security: given(security()),
  smtp_username: given(z.string().min(1).max(500)),
  smtp_password: given(secret()),
  /**
   * `false` selects STARTTLS instead of TLS from the first byte on ports that imply neither. It
   * never permits an unencrypted connection.
   */
  ssl_required: given(z.union([z.boolean(), z.stringbool()])),
  smtp_files_sent: given(z.boolean()),
  caldav_url: given(url()),
  carddav_url: given(url()),
});
export type ImapInput = z.infer<typeof imapInput>;

export interface ImapServer {
  host: string;
  port: number;
  security: Security;
  login: { user: string } & ({ password: string } | { accessToken: string });
}

/** @throws {z.ZodError} if the settings were not stored by this connector */
export function settingsOf(account: Pick<ProviderAccount, 'settings'>): ImapSettings {
  return imapSettings.parse(account.settings);
}

function loginOf(
  account: ProviderAccount,
  user: string,
  password: string | undefined,
): ImapServer['login'] {
  return password === undefined
    ? { user, accessToken: account.accessToken ?? '' }
    : { user, password };
}

/** The IMAP server and login of an account. */
export function imapServerOf(account: ProviderAccount): ImapServer {
  const { imap_host, imap_port, imap_security, imap_username, imap_password } = settingsOf(account);
  const login = loginOf(account, imap_username, imap_password);
  return { host: imap_host, port: imap_port, security: imap_security, login };
}

/** The SMTP server and login of an account. */
export function smtpServerOf(account: ProviderAccount): SmtpServer {
  const { smtp_host, smtp_port, smtp_security, smtp_username, smtp_password } = settingsOf(account);
  const login = loginOf(account, smtp_username, smtp_password);
  return { host: smtp_host, port: smtp_port, security: smtp_security, login };
}
