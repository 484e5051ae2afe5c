import { Inject, Injectable } from '@nestjs/common';
import { EntityManager } from '@mikro-orm/postgresql';
import { isWithin, restrict, type Scope, SCOPES } from '../../../platform/auth/scopes.ts';
import { hashToken } from '../../../platform/base/crypto/token-hash.ts';
import {
  ForbiddenError,
  InvalidInputError,
  NotFoundError,
} from '../../../platform/base/errors/domain-error.ts';
import { APP_CONFIG, type AppConfig } from '../../../platform/config/app-config.ts';
import { assertBelow } from '../../../platform/base/ceilings.ts';
import type { Page } from '../../../platform/database/listing.ts';
import { isId, newId, randomBase36, SECRET_LENGTH } from '../../../platform/base/ids/ids.ts';
import { Clock } from '../../../platform/base/time/clock.ts';
import { sqlOf } from '../../../platform/database/orm-transactions.ts';
import { Database, type Sql } from '../../../platform/database/sql.ts';
import { AccessToken } from './access-token.entity.ts';
import { recordAccountAudit } from '../record-account-audit.ts';
import { Grant } from '../grant.entity.ts';
import type { RowOf } from '../../../platform/database/rows/row-of.ts';

/** A token of an account as its application sees it: everything except the token itself. */
export interface ListedToken extends RowOf<
  AccessToken,
  'id' | 'createdAt' | 'lastUsedAt' | 'expiresAt' | 'revokedAt'
> {
  scopes: readonly Scope[];
}

export interface TokenOptions {
  /** `null` if the token works until it is revoked. */
  lifetimeSeconds: number | null;
  /** Narrower than the scopes of the account; absent or `null` if the token gets all of them. */
  scope?: readonly Scope[] | null | undefined;
}

/** A new token. It cannot be read again. */
export interface IssuedToken {
  id: string;
  token: string;
  expiresAt: Date | null;
}

/** What an application may know about a token of one of its accounts. */
export interface TokenInfo extends RowOf<AccessToken, 'createdAt'> {
  /** Time of revocation, or of creation if the token was never revoked. */
  updatedAt: Date;
  scopes: readonly Scope[];
  valid: boolean;
}

const INFO = `
  select t.created_at as "createdAt", coalesce(t.revoked_at, t.created_at) as "updatedAt",
         coalesce(g.scope, i.scope) as asked, g.granted_scope as agreed, t.scope as own,
         t.revoked_at is null and (t.expires_at is null or t.expires_at > $4) as valid
  from access_token t
  join "grant" g on g.id = t.grant_id
  left join integration i on i.id = g.integration_id
  where t.hash = $1 and g.id = $2 and g.application_id = $3`;

const LIST = `
  select t.id, t.created_at as "createdAt", t.last_used_at as "lastUsedAt", t.expires_at as "expiresAt",
         t.revoked_at as "revokedAt", coalesce(g.scope, i.scope) as asked, g.granted_scope as agreed, t.scope as own
  from access_token t
  join "grant" g on g.id = t.grant_id
  left join integration i on i.id = g.integration_id
  where g.id = $1 and g.application_id = $2`;

const REVOKE_ONE = `
  update access_token t set revoked_at = coalesce(t.revoked_at, $4) from "grant" g
  where t.id = $1 and g.id = t.grant_id and g.id = $2 and g.application_id = $3 returning t.id`;

const SCOPES_OF_ACCOUNT = `
  select coalesce(g.scope, i.scope) as asked, g.granted_scope as agreed
  from "grant" g left join integration i on i.id = g.integration_id where g.id = $1`;

const REVOKE_OLDER =
  'update access_token set revoked_at = $2 where grant_id = $1 and revoked_at is null';

const VALID = `
  from access_token where grant_id = $1 and revoked_at is null and (expires_at is null or expires_at > $2)`;

const COUNT_VALID = `select count(*)::int as count ${VALID}`;

const REVOKE_LONGEST_UNUSED = `
  update access_token set revoked_at = $2 where id in (
    select id ${VALID} order by coalesce(last_used_at, created_at) desc, id desc offset $3)`;

const REVOKE = `
  update access_token t set revoked_at = $2 from "grant" g
  where t.hash = $1 and t.revoked_at is null and g.id = t.grant_id
  returning t.id as "tokenId", g.id as "accountId", g.application_id as "applicationId"`;

const REVOKE_ALL = `
  update access_token t set revoked_at = $4 from "grant" g
  where g.id = t.grant_id and g.id = $1 and g.application_id = $2 and t.hash is distinct from $3
    and t.revoked_at is null
  returning t.id`;

interface RevokedToken extends RowOf<Grant, 'applicationId'> {
  tokenId: string;
  accountId: string;
}

/**
 * The three lists of scopes that together limit a token: `asked` by the grant or its integration,
 * `agreed` to by the user, and the token's `own`.
 */
interface ScopeColumns {
  asked: Scope[] | null;
  agreed: Scope[] | null;
  own: Scope[] | null;
}

/**
 * Access tokens are shown once and stored as hashes. An account may have several; each works until
 * it expires or is revoked.
 */
@Injectable()
export class AccessTokensService {
  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly em: EntityManager,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Adds a token for the grant, in the caller's transaction. */
  issue(em: EntityManager, grant: Grant, { lifetimeSeconds, scope }: TokenOptions): IssuedToken {
    const token = randomBase36(SECRET_LENGTH);
    const id = newId();
    const createdAt = this.clock.now();
    const expiresAt =
      lifetimeSeconds === null ? null : new Date(createdAt.getTime() + lifetimeSeconds * 1000);
    em.create(AccessToken, {
      id,
      grant,
      hash: hashToken(token),
      createdAt,
      expiresAt,
      scope: scope ? [...scope] : null,
    });
    return { id, token, expiresAt };
  }

  /**
   * Creates another token for an account, without a sign-in.
   * @param revokeOthers whether to revoke all earlier tokens of the account
   * @throws {InvalidInputError} for scopes that the account does not have
   * @throws {ForbiddenError} for a cancelled account
   * @throws {CeilingReachedError} if the account has the most valid tokens
   */
  async add(grant: Grant, options: TokenOptions, revokeOthers: boolean): Promise<IssuedToken> {
    if (grant.billingState === 'cancelled')
      throw new ForbiddenError(
        'account.cancelled',
        'This account has been cancelled: upgrade it first.',
      );
    return this.em.transactional(async (em) => {
      const sql = sqlOf(em);
      const [scopes] = await sql.query<Omit<ScopeColumns, 'own'>>(SCOPES_OF_ACCOUNT, [grant.id]);
      if (!scopes) throw new NotFoundError('grant', grant.id);
      const has = restrict(scopes.asked, scopes.agreed);
      const missing = (options.scope ?? []).filter((scope) => !isWithin([scope], has));
      if (missing.length > 0) {
        throw new InvalidInputError(
          `scope: ${missing.join(', ')}: this account has only ${(has ?? SCOPES).join(', ')}`,
          { betaType: 'grant.scopes_conflict' },
        );
      }
      if (revokeOthers) await this.revokeOlder(sql, grant.id);
      await this.#assertRoom(sql, grant.id);
      const issued = this.issue(em, em.getReference(Grant, grant.id), options);
      await em.flush();
      await recordAccountAudit(sql, {
        action: 'token.create',
        applicationId: grant.application.id,
        accountId: grant.id,
        tokenId: issued.id,
        details: { scope: options.scope ?? null, expiresAt: issued.expiresAt, revokeOthers },
      });
      return issued;
    });
  }

  /**
   * Revokes all tokens of an account, in the caller's transaction. Call it before creating the new
   * token.
   */
  async revokeOlder(sql: Sql, accountId: string): Promise<void> {
    await sql.query(REVOKE_OLDER, [accountId, this.clock.now()]);
  }

  /**
   * Makes room for the token of a sign-in, in the caller's transaction. An account at its ceiling
   * of valid tokens loses the token that was unused for the longest time. So a sign-in never fails
   * because of the ceiling.
   */
  async makeRoom(sql: Sql, accountId: string): Promise<void> {
    const { limit } = this.config.quotas.ceilings.tokens;
    if (limit > 0) await sql.query(REVOKE_LONGEST_UNUSED, [accountId, this.clock.now(), limit - 1]);
  }

  async #assertRoom(sql: Sql, accountId: string): Promise<void> {
    const [valid] = await sql.query<{ count: number }>(COUNT_VALID, [accountId, this.clock.now()]);
    const { tokens } = this.config.quotas.ceilings;
    assertBelow(
      tokens,
      valid?.count ?? 0,
      'valid access tokens of this account',
      'revoke one first',
    );
  }

  /**
   * Tokens of an account, oldest first. Tokens that ended more than 30 days ago have been deleted.
   * Empty if the account belongs to another application.
   */
  async list(applicationId: string, accountId: string, page: Page): Promise<ListedToken[]> {
    const rows = await this.database.query<Omit<ListedToken, 'scopes'> & ScopeColumns>(
      `${LIST} order by t.id limit $3 offset $4`,
      [accountId, applicationId, page.limit, page.offset],
    );
    return rows.map(toListed);
  }

  /** @throws {NotFoundError} also for a token of another account */
  async get(applicationId: string, accountId: string, tokenId: string): Promise<ListedToken> {
    const [row] = isId(tokenId)
      ? await this.database.query<Omit<ListedToken, 'scopes'> & ScopeColumns>(
          `${LIST} and t.id = $3`,
          [accountId, applicationId, tokenId],
        )
      : [];
    if (!row) throw new NotFoundError('access token', tokenId);
    return toListed(row);
  }

  /**
   * Revokes a token from the next request on. A token that is already revoked keeps its time of
   * revocation.
   * @throws {NotFoundError} also for a token of another account
   */
  async revokeById(applicationId: string, accountId: string, tokenId: string): Promise<void> {
    const values = [tokenId, accountId, applicationId, this.clock.now()];
    await this.database.transaction(async (sql) => {
      const rows = isId(tokenId) ? await sql.query(REVOKE_ONE, values) : [];
      if (rows.length === 0) throw new NotFoundError('access token', tokenId);
      const action = 'token.revoke';
      await recordAccountAudit(sql, { action, applicationId, accountId, tokenId });
    });
  }

  /**
   * Revokes a token from the next request on. Does nothing if the token is unknown or already
   * revoked.
   */
  async revoke(token: string): Promise<void> {
    await this.database.transaction(async (sql) => {
      const values = [hashToken(token), this.clock.now()];
      const [row] = await sql.query<RevokedToken>(REVOKE, values);
      if (row) await recordAccountAudit(sql, { action: 'token.revoke', ...row });
    });
  }

  /**
   * Revokes every token of an account, except `keep`.
   * @param keep a working token of that account
   * @throws {InvalidInputError} if `keep` is not a working token of the account; then nothing is
   *   revoked
   */
  async revokeAll(applicationId: string, accountId: string, keep?: string): Promise<void> {
    if (keep !== undefined && !(await this.info(applicationId, accountId, keep))?.valid) {
      throw new InvalidInputError(
        'keep_access_token: is not a working access token of this account',
      );
    }
    const kept = keep === undefined ? null : hashToken(keep);
    await this.database.transaction(async (sql) => {
      const values = [accountId, applicationId, kept, this.clock.now()];
      const { length } = await sql.query(REVOKE_ALL, values);
      const details = { revoked: length, keptOne: kept !== null };
      const action = 'token.revoke-all';
      await recordAccountAudit(sql, { action, applicationId, accountId, details });
    });
  }

  /** @returns `undefined` if the token never belonged to this account */
  async info(
    applicationId: string,
    accountId: string,
    token: string,
  ): Promise<TokenInfo | undefined> {
    const [row] = await this.database.query<Omit<TokenInfo, 'scopes'> & ScopeColumns>(INFO, [
      hashToken(token),
      accountId,
      applicationId,
      this.clock.now(),
    ]);
    return row && toListed(row);
  }
}

/** Adds the effective scopes: those that all three columns allow. */
function toListed<R extends object>({ asked, agreed, own, ...row }: R & ScopeColumns) {
  return { ...row, scopes: restrict(restrict(asked, agreed), own) ?? SCOPES };
}
