import type { EgressPolicy } from '../../../platform/egress/egress-policy.ts';
import type { ProviderAccount } from '../../port/connector.ts';
import {
  ProviderError,
  type ProviderErrorCode,
} from '../../../platform/base/errors/provider-error.ts';
import { SmtpSession } from '../../smtp/smtp-session.ts';
import { SMTP_LIMITS } from '../../smtp/smtp-settings.ts';
import { DavAllowance } from '../dav/dav-allowance.ts';
import type { CompletedSettings } from './imap-complete.ts';
import type { ImapSessions } from '../sessions/imap-sessions.ts';
import {
  type ImapServer,
  imapServerOf,
  type ImapSettings,
  smtpServerOf,
} from '../imap.settings.ts';
import { ProbeError, type ProbeFailure, probeServer } from './server-probe.ts';

/** The URL of calendars or address books, with the login to use there. */
export interface DavEndpoint {
  kind: 'caldav' | 'carddav';
  url: string;
  login: ImapServer['login'];
}

export interface VerifyDependencies {
  policy: EgressPolicy;
  sessions: ImapSessions;
  /**
   * Checks a CalDAV or CardDAV server.
   * @param allowance limit for everything that DAV servers send during this check
   * @throws {ProviderError} if there is no such server, or it refuses the login or sends too much
   */
  checkDav(server: DavEndpoint, allowance: DavAllowance): Promise<void>;
  /** Certificate authorities to trust instead of the system's (PEM). */
  ca?: string;
  /** Time limit for the whole check, in milliseconds. Default 20000. */
  limitMs?: number;
}

type Account = Omit<ProviderAccount, 'accountId'>;
type Kind = 'imap' | 'smtp';

const LIMIT_MS = 20_000;
/** Limit for one response of a DAV server. */
const DAV_ANSWER_BYTES = 256 * 1024;
/** Limit for all responses of the DAV servers of an account. */
const DAV_BYTES = 1024 * 1024;
/** Time limit for everything before the login. */
const PROBE_MS = 12_000;

/**
 * Error code and setting for each failure to reach a server. `unsupported` means that only other
 * settings can help.
 */
const FAILURES: Readonly<
  Record<ProbeFailure, readonly [ProviderErrorCode, 'host' | 'port' | 'security']>
> = {
  'unknown-host': ['unsupported', 'host'],
  dns: ['temporary', 'host'],
  blocked: ['unsupported', 'host'],
  cleartext: ['unsupported', 'security'],
  closed: ['unsupported', 'port'],
  silent: ['temporary', 'port'],
  certificate: ['unsupported', 'host'],
  tls: ['unsupported', 'security'],
  'no-starttls': ['unsupported', 'security'],
  protocol: ['unsupported', 'port'],
  refused: ['temporary', 'host'],
  lost: ['temporary', 'port'],
};

/**
 * Checks an account before its grant is created: both servers can be reached, with encryption and
 * valid certificates; both accept the login; there is an inbox. Calendars and address books are
 * removed from the settings if discovery found them and they do not work. If the request named
 * them, they must work.
 * @returns the settings that work
 * @throws {ProviderError} `setting` names the setting to correct. If several checks fail, a final
 *   error comes before a temporary one, and IMAP before SMTP
 */
export async function verifyImap(
  account: Account,
  completed: CompletedSettings,
  dependencies: VerifyDependencies,
): Promise<ImapSettings> {
  const whole = { ...account, accountId: '', settings: completed.settings };
  const signal = AbortSignal.timeout(dependencies.limitMs ?? LIMIT_MS);
  const check = new Check(whole, completed, dependencies, signal);
  const [imap, smtp, ...dav] = await Promise.allSettled([
    check.imap(),
    check.smtp(),
    check.dav('caldav'),
    check.dav('carddav'),
  ]);
  const failures = [imap, smtp, ...dav].flatMap((one) =>
    one.status === 'rejected' ? [one.reason as unknown] : [],
  );
  const isFinal = (error: unknown) =>
    error instanceof ProviderError && error.code !== 'temporary' && error.code !== 'rate-limited';
  if (failures.length > 0) throw failures.find(isFinal) ?? failures[0];
  const { caldav_url, carddav_url, ...settings } = completed.settings;
  const [caldav, carddav] = dav.map((one) => one.status === 'fulfilled' && one.value);
  return {
    ...settings,
    ...(caldav_url && caldav ? { caldav_url } : {}),
    ...(carddav_url && carddav ? { carddav_url } : {}),
  };
}

class Check {
  readonly #dav: DavAllowance;

  constructor(
    readonly account: ProviderAccount,
    readonly completed: CompletedSettings,
    readonly dependencies: VerifyDependencies,
    readonly signal: AbortSignal,
  ) {
    this.#dav = new DavAllowance(DAV_ANSWER_BYTES, DAV_BYTES, signal);
  }

  async imap(): Promise<void> {
    await this.#reach('imap');
    const { sessions } = this.dependencies;
    try {
      await sessions.useOnce(
        this.account,
        async (client) => {
          await client.mailboxOpen('INBOX', { readOnly: true });
        },
        { signal: this.signal },
      );
    } catch (error) {
      throw this.#refused('imap', error);
    }
  }

  async smtp(): Promise<void> {
    await this.#reach('smtp');
    const limits = {
      ...SMTP_LIMITS,
      ...(this.dependencies.ca ? { ca: this.dependencies.ca } : {}),
    };
    try {
      const server = smtpServerOf(this.account);
      const session = await SmtpSession.open(server, this.dependencies.policy, limits, this.signal);
      await session.login(this.signal);
      await session.quit();
    } catch (error) {
      throw this.#refused('smtp', error);
    }
  }

  /** @returns whether the server works; false only if the settings do not require it */
  async dav(kind: 'caldav' | 'carddav'): Promise<boolean> {
    const url = this.completed.settings[`${kind}_url`];
    if (!url) return false;
    try {
      const { login } = imapServerOf(this.account);
      await within(this.dependencies.checkDav({ kind, url, login }, this.#dav), this.signal);
      return true;
    } catch (error) {
      if (this.completed.davWasFound && error instanceof ProviderError) return false;
      throw error instanceof ProviderError && error.setting === null
        ? new ProviderError(error.code, error.message, { setting: `${kind}_url`, cause: error })
        : error;
    }
  }

  async #reach(kind: Kind): Promise<void> {
    const { settings } = this.completed;
    const server = {
      protocol: kind,
      host: settings[`${kind}_host`],
      port: settings[`${kind}_port`],
      security: settings[`${kind}_security`],
    };
    const { policy, ca } = this.dependencies;
    try {
      await probeServer(server, {
        policy,
        limitMs: PROBE_MS,
        signal: this.signal,
        ...(ca ? { ca } : {}),
      });
    } catch (error) {
      if (!(error instanceof ProbeError)) throw error;
      const [code, part] = FAILURES[error.failure];
      const message = `${server.host} ${error.message}`;
      throw new ProviderError(code, message, { setting: `${kind}_${part}`, cause: error });
    }
  }

  /**
   * Adds advice to a failure after the server was reached. The server's own text stays in the
   * cause.
   */
  #refused(kind: Kind, error: unknown): unknown {
    if (!(error instanceof ProviderError)) return error;
    const what = kind === 'imap' ? 'The mail server (IMAP)' : 'The outgoing mail server (SMTP)';
    const { code } = error;
    if (this.signal.aborted) {
      return new ProviderError('temporary', `${what} did not answer in time`, {
        setting: `${kind}_host`,
        cause: error,
      });
    }
    if (code !== 'auth-invalid') {
      return new ProviderError(code, `${what}: ${error.message}`, {
        setting: error.setting ?? `${kind}_host`,
        cause: error,
      });
    }
    const hint = this.completed.preset?.hint;
    const isByPassword = this.account.accessToken === undefined;
    const message = `${what} refused the login: ${error.message}${hint && isByPassword ? `. ${hint}` : ''}`;
    return new ProviderError(code, message, {
      ...(isByPassword ? { setting: this.completed.passwordsFrom[kind] } : {}),
      cause: error,
    });
  }
}

/** @throws {ProviderError} `temporary` if there is no result in time */
function within<T>(what: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const onAbort = () => reject(new ProviderError('temporary', 'The server did not answer in time'));
  signal.addEventListener('abort', onAbort, { once: true });
  what.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  return promise;
}
