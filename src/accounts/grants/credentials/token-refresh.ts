import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Clock, monotonicMs } from '../../../platform/base/time/clock.ts';
import { databaseTrouble } from '../../../platform/database/health/database-trouble.ts';
import { OauthIntegrations } from '../../integrations/oauth-integrations.ts';
import { OauthClients } from '../../oauth/oauth-clients.ts';
import { OauthError } from '../../oauth/oauth-error.ts';
import type {
  OauthCredential,
  OauthDescriptor,
  OauthSource,
  OauthTokens,
} from '../../../providers/port/sign-in/oauth-descriptor.ts';
import { ConnectorRegistry } from '../../../providers/port/connector-registry.ts';
import type { ProviderAccount } from '../../../providers/port/connector.ts';
import type { TokenSource } from '../../../providers/port/sign-in/fresh-tokens.ts';
import { InvalidInputError } from '../../../platform/base/errors/domain-error.ts';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import { countResult } from '../../../platform/metrics/count-result.ts';
import { tokenRefreshes } from '../../../platform/metrics/sync-metrics.ts';
import { replacedAt, type VersionedTokens, withToken } from '../tokens/account-token.ts';
import { type TokenLease, TokenStore } from './token-store.ts';

/** How long to wait for another process that is refreshing the same tokens. */
const WAIT_MS = 15_000;
const POLL_MS = 100;
/** After a temporary failure, the issuer is not asked again for this long. */
const PAUSE_MS = 5_000;
/** Maximum number of accounts in each of this process's maps. */
const MOST_KNOWN = 10_000;

interface Failure {
  version: number;
  untilMs: number;
  error: ProviderError;
}

/**
 * Refreshes access tokens (docs/oauth.md): ahead of their expiry, and once when the provider
 * refuses one. No other code refreshes them. Within a process one call per account refreshes the
 * tokens and all other calls wait for it. Among processes, the one that holds the lease does. Only
 * `invalid_grant` makes the grant invalid.
 */
@Injectable()
export class TokenRefresh implements TokenSource, OnModuleInit {
  /**
   * The newest tokens of this process, by account. Callers that loaded an account earlier use these
   * instead of asking the issuer.
   */
  readonly #newest = new Map<string, VersionedTokens>();
  readonly #running = new Map<string, Promise<VersionedTokens>>();
  readonly #failures = new Map<string, Failure>();
  /**
   * Tokens from the issuer that are not stored yet, with the version they replace. Their refresh
   * token may be the only one that still works.
   */
  readonly #unstored = new Map<string, VersionedTokens>();
  /** Versions that the provider refused although they were new, by account. */
  readonly #useless = new Map<string, number>();

  constructor(
    private readonly store: TokenStore,
    private readonly integrations: OauthIntegrations,
    private readonly clients: OauthClients,
    private readonly connectors: ConnectorRegistry,
    private readonly clock: Clock,
  ) {}

  onModuleInit(): void {
    this.connectors.useTokens(this);
  }

  /**
   * Gets a new access token from the issuer now, whatever the age of the present one.
   * @returns when the new token expires; `null` if the issuer has not said
   * @throws {ProviderError} if the issuer refuses or does not answer
   * @throws {InvalidInputError} if there is no such account, or it has not signed in by OAuth
   */
  async refresh(accountId: string): Promise<Date | null> {
    const standing = await this.store.read(accountId);
    if (!standing) throw new InvalidInputError(`there is no account ${accountId}`);
    if (!standing.tokens)
      throw new InvalidInputError(`account ${accountId} has a password and no access token`);
    const { tokens } = await this.#advance(accountId, standing.tokens.version);
    return tokens.expiresAt === null ? null : new Date(tokens.expiresAt);
  }

  async withFreshToken<T>(
    account: ProviderAccount,
    work: (account: ProviderAccount) => Promise<T>,
  ): Promise<T> {
    const first = await this.#fresh(account);
    try {
      return await work(first);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const second = await this.#another(first, error);
      try {
        return await work(second);
      } catch (again) {
        // Remember this version, so that the next call does not use up another token to get the
        // same refusal.
        if (isRefusal(again)) remember(this.#useless, account.accountId, versionOf(second));
        throw again;
      }
    }
  }

  async #fresh(account: ProviderAccount): Promise<ProviderAccount> {
    const known = this.#latest(account);
    const { token } = known;
    const now = this.clock.now().getTime();
    const due = token && replacedAt(token);
    if (!token || due === null || due === undefined || now < due) return known;
    try {
      return withToken(account, await this.#advance(account.accountId, token.version));
    } catch (error) {
      const usable = token.expiresAt === null || this.clock.now().getTime() < token.expiresAt;
      if (usable && error instanceof ProviderError && error.code === 'temporary') return known;
      throw error;
    }
  }

  /** @param refusal the provider's answer to the token of `account` */
  async #another(account: ProviderAccount, refusal: ProviderError): Promise<ProviderAccount> {
    const { accountId } = account;
    const version = versionOf(account);
    const latest = this.#latest(account);
    if (versionOf(latest) > version) return latest;
    if (this.#useless.get(accountId) === version) throw refusal;
    return withToken(account, await this.#advance(accountId, version));
  }

  #latest(account: ProviderAccount): ProviderAccount {
    const newest = this.#newest.get(account.accountId);
    return newest && newest.version > versionOf(account) ? withToken(account, newest) : account;
  }

  /**
   * Gets tokens newer than `version`.
   * @throws {ProviderError}
   */
  async #advance(accountId: string, version: number): Promise<VersionedTokens> {
    for (;;) {
      const running = this.#running.get(accountId) ?? this.#start(accountId, version);
      const advanced = await running;
      // A refresh that started before this version was stored may return the same version; then
      // start another one.
      if (advanced.version > version) return advanced;
    }
  }

  #start(accountId: string, version: number): Promise<VersionedTokens> {
    const running = this.#replace(accountId, version).finally(() =>
      this.#running.delete(accountId),
    );
    this.#running.set(accountId, running);
    return running;
  }

  async #replace(accountId: string, version: number): Promise<VersionedTokens> {
    const failure = this.#failures.get(accountId);
    if (failure?.version === version && monotonicMs() < failure.untilMs) throw failure.error;
    const replaced = await this.#leaseOrWait(accountId, version);
    this.#failures.delete(accountId);
    this.#unstored.delete(accountId);
    remember(this.#newest, accountId, replaced);
    return replaced;
  }

  async #leaseOrWait(accountId: string, version: number): Promise<VersionedTokens> {
    const begunMs = monotonicMs();
    for (;;) {
      const lease = await this.store.lease(accountId, version);
      const replaced = lease ? await this.#refresh(lease) : await this.#changed(accountId, version);
      if (replaced) return replaced;
      if (!lease && monotonicMs() - begunMs > WAIT_MS) {
        throw new ProviderError(
          'temporary',
          'the access token is being replaced by another process',
        );
      }
      await delay(POLL_MS);
    }
  }

  /** @returns `null` if the row still has this version */
  async #changed(accountId: string, version: number): Promise<VersionedTokens | null> {
    const standing = await this.store.read(accountId);
    if (!standing?.tokens) {
      throw new ProviderError(
        'temporary',
        'the account has been removed or has signed in another way',
      );
    }
    if (standing.tokens.version > version) return standing.tokens;
    if (standing.status === 'valid') return null;
    throw new ProviderError(
      'auth-invalid',
      standing.statusReason ?? 'the user has to sign in again',
    );
  }

  /** @returns `null` if the row has other tokens by now */
  async #refresh(lease: TokenLease): Promise<VersionedTokens | null> {
    const { provider } = lease;
    try {
      const tokens = await this.#ask(lease);
      countResult(tokenRefreshes, ['provider', provider], 'refreshed');
      return await this.store.store(lease, tokens);
    } catch (error) {
      if (error instanceof OauthError) {
        const result = error.failure === 'refused' ? 'refused' : 'failed';
        countResult(tokenRefreshes, ['provider', provider], result);
        return this.#refused(lease, error);
      }
      if (!databaseTrouble(error)) await this.store.giveBack(lease);
      throw error;
    }
  }

  /**
   * New tokens from the issuer for the leased ones. Tokens that could not be stored earlier are
   * used again instead.
   */
  async #ask(lease: TokenLease): Promise<OauthTokens> {
    const { accountId, applicationId, provider, present } = lease;
    const unstored = this.#unstored.get(accountId);
    if (unstored?.version === present.version) return unstored.tokens;
    const oauth = await this.integrations.find(applicationId, provider);
    const source = { integration: oauth?.integration ?? null, own: present.tokens.own ?? null };
    const registration = oauth?.descriptor.registration(source);
    if (!oauth || !registration) {
      throw new OauthError(
        'misconfigured',
        `there is no integration for ${provider} with OAuth settings`,
      );
    }
    const credential = credentialOf(oauth.descriptor, source, lease);
    // The user is already known. An error in new claims about the user must not lose the tokens.
    const { tokens } = await this.clients.obtain(registration, credential, present.tokens);
    remember(this.#unstored, accountId, { version: present.version, tokens });
    return tokens;
  }

  async #refused(lease: TokenLease, error: OauthError): Promise<null> {
    const words = `no fresh access token: ${error.message}`;
    if (error.failure === 'refused') {
      if (!(await this.store.invalidate(lease, words))) return null;
      throw new ProviderError('auth-invalid', words, { cause: error });
    }
    await this.store.giveBack(lease);
    const failure = new ProviderError('temporary', words, { cause: error });
    const untilMs = monotonicMs() + PAUSE_MS;
    remember(this.#failures, lease.accountId, {
      version: lease.present.version,
      untilMs,
      error: failure,
    });
    throw failure;
  }
}

/** @throws {OauthError} `refused` if only the user can get new tokens */
function credentialOf(
  descriptor: OauthDescriptor,
  source: OauthSource,
  { email, present: { tokens } }: TokenLease,
): OauthCredential {
  const { refreshToken, scopes } = tokens;
  if (refreshToken !== null) return { kind: 'refresh-token', refreshToken };
  const credential = descriptor.renewal(source, { email, scopes: scopes ?? [] });
  if (credential) return credential;
  throw new OauthError('refused', 'the access token has expired, and there is no refresh token');
}

function isRefusal(error: unknown): error is ProviderError {
  return error instanceof ProviderError && error.code === 'auth-invalid';
}

const versionOf = ({ token }: ProviderAccount): number => token?.version ?? 0;

function remember<T>(map: Map<string, T>, accountId: string, value: T): void {
  if (map.size >= MOST_KNOWN) map.clear();
  map.set(accountId, value);
}
