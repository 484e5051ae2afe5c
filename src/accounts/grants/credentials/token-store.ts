import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { SecretBox } from '../../../platform/base/crypto/secret-box.ts';
import { Clock, monotonicMs } from '../../../platform/base/time/clock.ts';
import { databaseTrouble } from '../../../platform/database/health/database-trouble.ts';
import { Database } from '../../../platform/database/sql.ts';
import type { OauthTokens } from '../../../providers/port/sign-in/oauth-descriptor.ts';
import type { VersionedTokens } from '../tokens/account-token.ts';
import { moveGrants } from '../moves/grant-moves.ts';
import { openGrantTokens, sealGrantTokens } from './grant-secrets.ts';
import type { GrantStatus } from '../../../platform/auth/grant-status.ts';
import type { Grant } from '../grant.entity.ts';
import type { RowOf, NotNull } from '../../../platform/database/rows/row-of.ts';

/** The right to refresh the tokens of one grant, until the lease ends. */
export interface TokenLease {
  accountId: string;
  applicationId: string;
  provider: string;
  email: string;
  present: VersionedTokens;
  /**
   * `token_lease_until` as text. It identifies the lease, so that a process cannot release the
   * lease of another.
   */
  until: string;
}

/** The status and tokens that a grant's row contains. */
export interface TokenStanding {
  status: GrantStatus;
  statusReason: string | null;
  /** `null` if the account has signed in with a password in the meantime. */
  tokens: VersionedTokens | null;
}

/**
 * Longer than all work under the lease can take (two exchanges of at most 10 s, and storing). So no
 * second process uses a refresh token that is already in use.
 */
const LEASE_SECONDS = 60;
/** How long to retry storing while the database is unavailable. */
const STORE_MS = 30_000;
const STORE_PAUSE_MS = 250;

interface Row extends RowOf<Grant, 'status' | 'statusReason' | 'tokensSealed'> {
  version: number;
}

const LEASE = `
  update "grant" set token_lease_until = now() + interval '${LEASE_SECONDS} s'
  where id = $1 and token_version = $2 and tokens_sealed is not null and status = 'valid'
    and (token_lease_until is null or token_lease_until <= now())
  returning application_id as "applicationId", provider, email, tokens_sealed as "tokensSealed", token_lease_until::text as until`;
const READ = `
  select status, status_reason as "statusReason", tokens_sealed as "tokensSealed", token_version as version
  from "grant" where id = $1`;
const STORE = `
  update "grant" set tokens_sealed = $3, token_version = token_version + 1, token_lease_until = null
  where id = $1 and token_version = $2
  returning token_version as version`;
const GIVE_BACK = `
  update "grant" set token_lease_until = null
  where id = $1 and token_version = $2 and token_lease_until = $3::timestamptz
  returning settings_sealed as "settingsSealed"`;

/**
 * OAuth tokens in the rows of grants. One process at a time has the lease, and each version is
 * replaced once.
 */
@Injectable()
export class TokenStore {
  readonly #log = new Logger(TokenStore.name);

  constructor(
    private readonly database: Database,
    private readonly secretBox: SecretBox,
    private readonly clock: Clock,
  ) {}

  /**
   * @returns `null` if another process has the lease, the row has another version, or the grant
   *   is not valid
   */
  async lease(accountId: string, version: number): Promise<TokenLease | null> {
    const [row] = await this.database.query<
      RowOf<Grant, 'applicationId' | 'provider' | 'email'> &
        NotNull<RowOf<Grant, 'tokensSealed'>> & { until: string }
    >(LEASE, [accountId, version]);
    if (!row) return null;
    const { tokensSealed, ...lease } = row;
    const tokens = openGrantTokens(this.secretBox, accountId, tokensSealed);
    return { accountId, ...lease, present: { version, tokens } };
  }

  /** @returns `null` if the grant has been deleted */
  async read(accountId: string): Promise<TokenStanding | null> {
    const [row] = await this.database.query<Row>(READ, [accountId]);
    if (!row) return null;
    const { status, statusReason, tokensSealed, version } = row;
    const tokens =
      tokensSealed === null ? null : openGrantTokens(this.secretBox, accountId, tokensSealed);
    return { status, statusReason, tokens: tokens && { version, tokens } };
  }

  /**
   * Replaces the leased tokens with new ones. The old refresh token may be used up, so storing is
   * retried for half a minute while the database is unavailable.
   * @returns `null` if the grant has been deleted or has other tokens by now, because the user
   *   has signed in again
   */
  async store(
    { accountId, present: { version } }: TokenLease,
    tokens: OauthTokens,
  ): Promise<VersionedTokens | null> {
    const sealed = sealGrantTokens(this.secretBox, accountId, tokens);
    const begunMs = monotonicMs();
    for (;;) {
      try {
        const [row] = await this.database.query<{ version: number }>(STORE, [
          accountId,
          version,
          sealed,
        ]);
        return row ? { version: row.version, tokens } : null;
      } catch (error) {
        if (!databaseTrouble(error) || monotonicMs() - begunMs > STORE_MS) throw error;
        this.#log.warn(`new tokens of account ${accountId} could not be stored; trying again`);
        await delay(STORE_PAUSE_MS);
        // The statement may have succeeded although its response was lost.
        const stored = await this.#storedMeanwhile(accountId, version, tokens);
        if (stored) return stored;
      }
    }
  }

  /** Releases the lease, so that another process can refresh the tokens. */
  async giveBack({ accountId, present: { version }, until }: TokenLease): Promise<void> {
    await this.database.query(GIVE_BACK, [accountId, version, until]);
  }

  /**
   * Makes the grant `invalid`, because the issuer no longer accepts the refresh token.
   * @returns `false` if another process has the lease or the grant has other tokens by now; then
   *   nothing changes
   */
  async invalidate(
    { accountId, present: { version }, until }: TokenLease,
    reason: string,
  ): Promise<boolean> {
    return this.database.transaction(async (sql) => {
      const [row] = await sql.query<RowOf<Grant, 'settingsSealed'>>(GIVE_BACK, [
        accountId,
        version,
        until,
      ]);
      if (!row) return false;
      const move = { accountId, status: 'invalid', reason, ...row } as const;
      await moveGrants(sql, [move], this.clock.now());
      return true;
    });
  }

  async #storedMeanwhile(
    accountId: string,
    version: number,
    { accessToken }: OauthTokens,
  ): Promise<VersionedTokens | null> {
    try {
      const standing = await this.read(accountId);
      const stored = standing?.tokens;
      return stored?.version === version + 1 && stored.tokens.accessToken === accessToken
        ? stored
        : null;
    } catch (error) {
      if (databaseTrouble(error)) return null;
      throw error;
    }
  }
}
