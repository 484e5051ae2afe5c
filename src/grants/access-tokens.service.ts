import { Injectable } from '@nestjs/common';
import type { EntityManager } from '@mikro-orm/postgresql';
import { restrict, type Scope, SCOPES } from '../auth/scopes.ts';
import { hashToken } from '../common/crypto/token-hash.ts';
import { InvalidInputError } from '../common/errors/domain-error.ts';
import { newId, randomBase36 } from '../common/ids/ids.ts';
import { Clock } from '../common/time/clock.ts';
import { Database } from '../database/sql.ts';
import { AccessToken } from './access-token.entity.ts';
import type { Grant } from './grant.entity.ts';

const TOKEN_LENGTH = 50;

/** What an application may know about a token of one of its accounts. */
export interface TokenInfo {
  createdAt: Date;
  /** When it was revoked, else when it was made. */
  updatedAt: Date;
  scopes: readonly Scope[];
  valid: boolean;
}

const INFO = `
  select t.created_at as "createdAt", coalesce(t.revoked_at, t.created_at) as "updatedAt",
         coalesce(g.scope, i.scope) as asked, g.granted_scope as agreed,
         t.revoked_at is null and (t.expires_at is null or t.expires_at > $4) as valid
  from access_token t
  join "grant" g on g.id = t.grant_id
  left join integration i on i.id = g.integration_id
  where t.hash = $1 and g.id = $2 and g.application_id = $3`;

const REVOKE = `
  update access_token set revoked_at = $2 where hash = $1 and revoked_at is null`;

const REVOKE_ALL = `
  update access_token t set revoked_at = $4 from "grant" g
  where g.id = t.grant_id and g.id = $1 and g.application_id = $2 and t.hash is distinct from $3
    and t.revoked_at is null`;

/** Access tokens: shown once, kept as hashes. An account may have several; each works until it is revoked. */
@Injectable()
export class AccessTokens {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Adds a token for the grant, in the caller's transaction. @returns the token itself: it cannot be read again */
  issue(em: EntityManager, grant: Grant): string {
    const token = randomBase36(TOKEN_LENGTH);
    em.create(AccessToken, { id: newId(), grant, hash: hashToken(token), createdAt: this.clock.now() });
    return token;
  }

  /** Refused from the next request on. A token that is already revoked or unknown changes nothing. */
  async revoke(token: string): Promise<void> {
    await this.database.query(REVOKE, [hashToken(token), this.clock.now()]);
  }

  /**
   * Revokes every token of an account, but for `keep`.
   * @param keep a working token of that account
   * @throws {InvalidInputError} when `keep` is something else; nothing is revoked
   */
  async revokeAll(applicationId: string, accountId: string, keep?: string): Promise<void> {
    if (keep !== undefined && !(await this.info(applicationId, accountId, keep))?.valid) {
      throw new InvalidInputError('keep_access_token: is not a working access token of this account');
    }
    const kept = keep === undefined ? null : hashToken(keep);
    await this.database.query(REVOKE_ALL, [accountId, applicationId, kept, this.clock.now()]);
  }

  /** @returns undefined when the token never belonged to this account */
  async info(applicationId: string, accountId: string, token: string): Promise<TokenInfo | undefined> {
    const [row] = await this.database.query<
      Omit<TokenInfo, 'scopes'> & { asked: Scope[] | null; agreed: Scope[] | null }
    >(INFO, [hashToken(token), accountId, applicationId, this.clock.now()]);
    if (!row) return undefined;
    const { asked, agreed, ...info } = row;
    return { ...info, scopes: restrict(asked, agreed) ?? SCOPES };
  }
}
