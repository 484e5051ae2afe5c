import { emailAddress } from '../../../platform/wire/wire.schema.ts';
import { DomainError } from '../../../platform/base/errors/domain-error.ts';
import type { MailCandidate } from '../../../providers/port/sign-in/mail-discovery.ts';
import type { PasswordForm } from '../../../providers/port/sign-in/sign-in-descriptor.ts';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import type { CredentialsForm } from '../pages/sign-in.pages.ts';
import { TEXTS } from '../pages/texts.ts';
import type { Offer } from './provider-offers.ts';
import type { Visit } from './sign-in-visits.ts';

/*
 * Pure functions for the page with address and password: parse the form, find invalid fields, and
 * map errors of the provider to fields.
 */

/** Form fields for the servers, with the names of the settings of an imap account. */
const SERVER_FIELDS = [
  'imap_host',
  'imap_port',
  'imap_security',
  'imap_username',
  'smtp_host',
  'smtp_port',
  'smtp_security',
  'smtp_username',
  'smtp_password',
  'caldav_url',
  'carddav_url',
] as const;
const FIELDS = ['email', 'password', ...SERVER_FIELDS] as const;
type FieldName = (typeof FIELDS)[number];

/** Fields whose values are never shown again. */
const SECRET: readonly string[] = ['password', 'smtp_password'];
/**
 * Credentials that an application may have given. They are ignored, because users type their own.
 */
export const NOT_THE_USERS: readonly string[] = ['password', 'imap_password', 'refresh_token'];
const LONGEST = 1_000;
const HOST = /^[\p{L}\p{N}.:_-]{1,253}$/u;

/**
 * The typed values by field name; empty if nothing was typed. Passwords are unchanged, other values
 * are trimmed.
 */
export type Typed = Record<FieldName, string>;

export function typedIn(body: Readonly<Record<string, unknown>>): Typed {
  const value = (name: FieldName): string => {
    const given = body[name];
    if (typeof given !== 'string') return '';
    return SECRET.includes(name) ? given : given.trim();
  };
  return Object.fromEntries(FIELDS.map((name) => [name, value(name)])) as Typed;
}

/**
 * The form before the user has typed anything. It shows servers that the application has named,
 * because users must see where their password goes.
 * @param given settings from the application
 */
export function firstCredentials(
  { request }: Visit,
  offer: Offer,
  given: Readonly<Record<string, unknown>> = {},
): CredentialsForm {
  const named = SERVER_FIELDS.filter((name) => !SECRET.includes(name) && isWord(given[name]));
  return {
    offer: offer.id,
    texts: formOf(offer),
    values: {
      email: request.loginHint ?? '',
      ...Object.fromEntries(named.map((name) => [name, String(given[name])])),
    },
    errors: {},
    again: request.grantId !== null && request.grantId !== undefined,
    servers: named.length > 0 ? 'given' : 'closed',
  };
}

/** @throws {Error} for an offer without a password */
export function formOf({ provider, signIn: { password } }: Offer): PasswordForm {
  if (password) return password;
  throw new Error(`${provider} has no form with a password`);
}

const isWord = (value: unknown): boolean => typeof value === 'string' || typeof value === 'number';

/** The form again, with the typed values except passwords, and with the errors. */
export function sameCredentials(
  visit: Visit,
  offer: Offer,
  typed: Partial<Typed>,
  errors: Readonly<Record<string, string>>,
  servers?: CredentialsForm['servers'],
): CredentialsForm {
  const values = Object.fromEntries(
    Object.entries(typed).map(([name, value]) => [name, SECRET.includes(name) ? '' : value]),
  );
  const named = SERVER_FIELDS.some((name) => typed[name] || errors[name]);
  return {
    ...firstCredentials(visit, offer),
    values,
    errors,
    servers: servers ?? (named ? 'open' : 'closed'),
  };
}

/** Whether the user has typed servers. Then there is no discovery. */
export const namesServers = (typed: Typed): boolean =>
  typed.imap_host !== '' || typed.smtp_host !== '';

/** Errors that can be found without asking a provider, by field. */
export function flawsOf(
  typed: Typed,
  { passwordRequired, servers }: PasswordForm,
  expectedEmail: string | null,
): Record<string, string> {
  const texts = TEXTS.errors;
  const errors: Record<string, string> = {};
  for (const name of FIELDS) {
    if (typed[name].length > LONGEST || typed[name].includes('\0') || !typed[name].isWellFormed())
      errors[name] = texts.tooLong;
  }
  if (!typed.email) errors['email'] = texts.emailMissing;
  else if (!emailAddress().safeParse(typed.email).success) errors['email'] = texts.emailInvalid;
  else if (expectedEmail !== null && typed.email.toLowerCase() !== expectedEmail)
    errors['email'] = texts.otherAccount(expectedEmail);
  if (passwordRequired && !typed.password) errors['password'] ??= texts.passwordMissing;
  if (!servers) return errors;
  if (namesServers(typed)) {
    for (const name of ['imap_host', 'smtp_host'] as const) {
      if (!HOST.test(typed[name])) errors[name] ??= texts.hostMissing;
    }
  }
  for (const name of ['imap_port', 'smtp_port'] as const) {
    const port = Number(typed[name] || 1);
    if (!Number.isInteger(port) || port < 1 || port > 65_535) errors[name] ??= texts.portInvalid;
  }
  return errors;
}

/**
 * Settings for the provider: the typed values, and the application's other settings. Servers are
 * those on the page; a server that the user has cleared is left out, and the connector discovers
 * it. The application's SMTP password is sent only to the server it was given for.
 */
export function settingsOf(
  typed: Typed,
  form: PasswordForm,
  given: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const { email: _, password, ...servers } = typed;
  if (!form.servers) return { ...given, ...(password ? { password } : {}) };
  const shown: readonly string[] = [...SERVER_FIELDS, ...NOT_THE_USERS];
  return {
    ...Object.fromEntries(Object.entries(given).filter(([name]) => !shown.includes(name))),
    ...(isSmtpAsGiven(typed, given) ? { smtp_password: given['smtp_password'] } : {}),
    ...Object.fromEntries(Object.entries(servers).filter(([, value]) => value !== '')),
    password,
  };
}

/**
 * Whether mail is sent through the server that the application has named, with the login it has
 * given.
 */
function isSmtpAsGiven(typed: Typed, given: Readonly<Record<string, unknown>>): boolean {
  if (!given['smtp_host'] || given['smtp_password'] === undefined) return false;
  const parts = ['smtp_host', 'smtp_port', 'smtp_security', 'smtp_username'] as const;
  return parts.every(
    (name) => typed[name] === (isWord(given[name]) ? String(given[name]).trim() : ''),
  );
}

/** Discovered servers as if the user had typed them, for the user to check. */
export function asTyped(typed: Typed, { servers }: MailCandidate): Partial<Typed> {
  const { imap_host, imap_port, imap_security, smtp_host, smtp_port, smtp_security } = servers;
  return {
    ...typed,
    imap_host,
    imap_port: String(imap_port),
    imap_security,
    smtp_host,
    smtp_port: String(smtp_port),
    smtp_security,
  };
}

/** The form field of a setting; empty if there is none. */
function fieldOf(setting: string | null): string {
  if (setting === 'imap_password' || setting === null) return 'password';
  if (setting === 'preset') return 'email';
  return (FIELDS as readonly string[]).includes(setting) ? setting : '';
}

/** Whether the attempt failed because no servers are known. */
export function isAboutServers(error: DomainError): boolean {
  const { cause } = error.details;
  return (
    cause instanceof ProviderError &&
    cause.code === 'unsupported' &&
    (cause.setting === 'imap_host' || cause.setting === 'smtp_host')
  );
}

/**
 * Errors of a failed check, by field.
 * @param hint what is known about the provider of the address
 */
export function errorsOf(error: DomainError, hint: string | null): Record<string, string> {
  const { cause } = error.details;
  const texts = TEXTS.errors;
  if (!(cause instanceof ProviderError)) {
    const [, setting = '', words = error.message] =
      /^settings\.(\w+): (.*)$/s.exec(error.message) ?? [];
    return { [fieldOf(setting)]: words };
  }
  const field = fieldOf(cause.setting);
  if (cause.code === 'auth-invalid') {
    return { [field]: [texts.refused(cause.message), ...(hint ? [hint] : [])].join(' ') };
  }
  if (error.kind === 'unavailable' && cause.setting === null)
    return { '': texts.unavailable(cause.message) };
  return { [field]: cause.message };
}
