import { Injectable, Logger } from '@nestjs/common';
import { DomainError, InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { MailDiscovery } from '../../providers/port/mail-discovery.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';

/** Settings that say where a connection goes. */
const SERVERS = ['imap_host', 'smtp_host', 'caldav_url', 'carddav_url'] as const;
const DAV: readonly (string | null)[] = ['caldav_url', 'carddav_url'];
const NAMES = ['imap_username', 'smtp_username', 'username', 'eas_username'] as const;

/** An attempt to sign in, as far as it says where connections go. */
interface Attempt {
  applicationId: string;
  provider: string;
  email: string;
  settings: Readonly<Record<string, unknown>>;
}

/** Servers that somebody unknown had this server connect to could not be used. Why is not told. */
export class UnusableServersError extends InvalidInputError {
  constructor() {
    super(
      'settings: could not connect to the mail servers: check their names, ports and security (imap_host, smtp_host, caldav_url, carddav_url)',
      { betaType: 'grant.provider_error' },
    );
  }
}

/**
 * Sign-ins at servers that whoever signs in has chosen, by name or by the domain of an address. Telling them why a server could
 * not be used would make this server a scanner of ports and networks.
 */
@Injectable()
export class ChosenServers {
  readonly #log = new Logger('SignIn');

  constructor(private readonly discovery: MailDiscovery) {}

  /**
   * What somebody unknown may know of a failed attempt: that a login was refused, what is missing, and everything about servers
   * of our own table. All other failures are one and the same; the log has the reason.
   * @returns the error itself, or another one in its place
   */
  withoutDetails(error: unknown, attempt: Attempt): unknown {
    const cause = error instanceof DomainError ? error.details.cause : undefined;
    if (!(cause instanceof ProviderError) || !this.#isChosen(attempt) || mayBeTold(cause))
      return error;
    // Servers like to repeat who signs in.
    const words = cause.message
      .replaceAll(attempt.email, '…')
      .replaceAll(attempt.email.toLowerCase(), '…');
    this.#log.log(
      `sign-in to application ${attempt.applicationId}: ${cause.code} ${cause.setting ?? ''}: ${words}`,
    );
    return new UnusableServersError();
  }

  #isChosen({ provider, email, settings }: Attempt): boolean {
    if (provider !== 'imap') return false;
    if (SERVERS.some((name) => (settings[name] ?? '') !== '')) return true;
    return (settings['preset'] ?? '') === '' && this.discovery.known(email) === null;
  }
}

/** Whether an error says nothing about what is listening anywhere. What was found out by connecting has a cause. */
function mayBeTold({ code, setting, cause }: ProviderError): boolean {
  if (DAV.includes(setting)) return false;
  return code === 'auth-invalid' || (code === 'unsupported' && cause === undefined);
}

/** Names that a password is tried for in one attempt: the address, and the user names among the settings. */
export function namesTried(email: string, settings: Readonly<Record<string, unknown>>): string[] {
  const named = NAMES.map((name) => settings[name]);
  return [email, ...named.filter((name) => typeof name === 'string')];
}
