import { monotonicMs } from '../../../platform/base/time/clock.ts';
import type { ProviderAccount } from '../../port/connector.ts';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import { settingsOf } from '../imap.settings.ts';
import { type DavAllowance, DavAnswerTooLongError } from './dav-allowance.ts';
import { type DavDependencies, type DavServer, DAV_TEXTS } from './dav-fetch.ts';
import { DavSession } from './dav-session.ts';

/** How long a found home URL is cached, in milliseconds. */
const HOME_KEPT_MS = 3_600_000;
const MOST_KEPT = 5_000;

/** Finds the DAV server of accounts and caches their home URLs. */
export class DavAccounts {
  /** By server and user. */
  readonly #homes = new Map<string, { home: URL; foundMs: number }>();

  constructor(
    private readonly kind: DavServer['kind'],
    private readonly means: DavDependencies,
  ) {}

  has(account: ProviderAccount): boolean {
    return settingsOf(account)[DAV_TEXTS[this.kind].setting] !== undefined;
  }

  /**
   * Runs work with a session at the account's server.
   * @throws {ProviderError} `unsupported` if the account has no such server
   */
  async run<T>(account: ProviderAccount, work: (session: DavSession) => Promise<T>): Promise<T> {
    const server = this.#serverOf(account);
    try {
      return await work(await this.#session(server));
    } catch (error) {
      throw asRefusal(error, server);
    }
  }

  async #session(server: DavServer): Promise<DavSession> {
    const key = `${server.url} ${server.login.user}`;
    const kept = this.#homes.get(key);
    if (kept && monotonicMs() - kept.foundMs < HOME_KEPT_MS)
      return DavSession.at(this.means, server, kept.home);
    const session = await DavSession.open(this.means, server);
    if (this.#homes.size >= MOST_KEPT) this.#homes.clear();
    this.#homes.set(key, { home: session.home, foundMs: monotonicMs() });
    return session;
  }

  #serverOf(account: ProviderAccount): DavServer {
    const settings = settingsOf(account);
    const { what, setting } = DAV_TEXTS[this.kind];
    const url = settings[setting];
    if (url === undefined)
      throw new ProviderError('unsupported', `This account has no ${what}: ${setting} is not set`, {
        setting,
      });
    const { imap_username: user, imap_password: password } = settings;
    const login =
      password === undefined
        ? { user, accessToken: account.accessToken ?? '' }
        : { user, password };
    return { kind: this.kind, url, login };
  }
}

/**
 * Searches for an account's home on a server that is not verified yet.
 * @param allowance limits for the server's responses
 * @throws {ProviderError} `rejected` if there is no home, or the server sends too much
 */
export async function checkDavServer(
  means: DavDependencies,
  server: DavServer,
  allowance: DavAllowance,
): Promise<void> {
  try {
    await DavSession.open(means, server, allowance);
  } catch (error) {
    throw asRefusal(error, server);
  }
}

function asRefusal(error: unknown, { kind }: DavServer): unknown {
  if (!(error instanceof DavAnswerTooLongError)) return error;
  const { what, setting } = DAV_TEXTS[kind];
  return new ProviderError('rejected', `The server of the ${what} sent too much`, { setting });
}
