import { Inject, Injectable, Logger } from '@nestjs/common';
import { DomainError, InvalidInputError } from '../../../platform/base/errors/domain-error.ts';
import { ConnectorRegistry } from '../../../providers/port/connector-registry.ts';
import { MailDiscovery } from '../../../providers/port/sign-in/mail-discovery.ts';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';

/** Settings that decide which server a connection goes to. */
const SERVERS = ['imap_host', 'smtp_host', 'caldav_url', 'carddav_url'] as const;
const DAV: readonly (string | null)[] = ['caldav_url', 'carddav_url'];
const NAMES = ['imap_username', 'smtp_username', 'username', 'eas_username'] as const;

/** The part of a sign-in that decides which servers are contacted. */
interface Attempt {
  applicationId: string;
  provider: string;
  email: string;
  settings: Readonly<Record<string, unknown>>;
}

/**
 * The mail servers that an unauthenticated user has named could not be used. The response does not
 * give the reason.
 */
export class UnusableServersError extends InvalidInputError {
  constructor() {
    super(
      'settings: could not connect to the mail servers: check their names, ports and security (imap_host, smtp_host, caldav_url, carddav_url)',
      { betaType: 'grant.provider_error' },
    );
  }
}

/**
 * Hides errors of servers that the user has chosen, by name or by the domain of an address.
 * Detailed errors would let users scan ports and networks through this server.
 */
@Injectable()
export class ChosenServers {
  readonly #log = new Logger('SignIn');

  constructor(
    private readonly discovery: MailDiscovery,
    @Inject(ConnectorRegistry) private readonly connectors: Pick<ConnectorRegistry, 'find'>,
  ) {}

  /**
   * Removes details that an unauthenticated user must not see. Users may learn that a login was
   * refused, which settings are missing, and everything about well-known servers. All other
   * failures become the same `UnusableServersError`, and the reason is logged.
   * @returns the error itself, or the `UnusableServersError` in its place
   */
  withoutDetails(error: unknown, attempt: Attempt): unknown {
    const cause = error instanceof DomainError ? error.details.cause : undefined;
    if (!(cause instanceof ProviderError) || !this.#isChosen(attempt) || revealsNoServer(cause))
      return error;
    // Servers often repeat the address of the user. Keep it out of the log.
    const words = cause.message
      .replaceAll(attempt.email, '…')
      .replaceAll(attempt.email.toLowerCase(), '…');
    this.#log.log(
      `sign-in to application ${attempt.applicationId} failed: ${cause.code} ${cause.setting ?? ''}: ${words}`,
    );
    return new UnusableServersError();
  }

  #isChosen({ provider, email, settings }: Attempt): boolean {
    if (!this.connectors.find(provider)?.signIn?.password?.servers) return false;
    if (SERVERS.some((name) => (settings[name] ?? '') !== '')) return true;
    return (settings['preset'] ?? '') === '' && this.discovery.known(email) === null;
  }
}

/**
 * Whether an error reveals nothing about listening servers. Errors that come from connecting have a
 * cause.
 */
function revealsNoServer({ code, setting, cause }: ProviderError): boolean {
  if (DAV.includes(setting)) return false;
  return code === 'auth-invalid' || (code === 'unsupported' && cause === undefined);
}

/**
 * User names that one attempt tries a password for: the address, and the user names in the
 * settings.
 */
export function namesTried(email: string, settings: Readonly<Record<string, unknown>>): string[] {
  const named = NAMES.map((name) => settings[name]);
  return [email, ...named.filter((name) => typeof name === 'string')];
}
