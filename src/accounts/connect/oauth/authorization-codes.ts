import { Injectable } from '@nestjs/common';
import type { EntityManager } from '@mikro-orm/postgresql';
import { SecretBox } from '../../../platform/base/crypto/secret-box.ts';
import { hashToken } from '../../../platform/base/crypto/token-hash.ts';
import { newId, randomBase36 } from '../../../platform/base/ids/ids.ts';
import { Clock } from '../../../platform/base/time/clock.ts';
import { sqlOf } from '../../../platform/database/orm-transactions.ts';
import type { Sql } from '../../../platform/database/sql.ts';
import type { VerifiedCredentials } from '../../grants/credentials/credentials.ts';
import type { ConnectOptions } from '../../grants/moves/grant-connections.service.ts';
import type { AuthorizationCode } from './authorization-code.entity.ts';
import { authorizationCodeContext } from './sealed-contexts.ts';
import type { RowOf } from '../../../platform/database/rows/row-of.ts';

/**
 * The request behind a code: an account to connect, or the token of an account that is already
 * connected.
 */
export type AuthorizedRequest = AuthorizedAccount | AuthorizedToken;

export interface AuthorizedAccount extends Omit<ConnectOptions, 'integrationRequired'> {
  credentials: VerifiedCredentials;
}

/** The access token of an account that is already connected. */
export interface AuthorizedToken {
  grantId: string;
  accessToken: string;
  /** ISO 8601; `null` if the token does not expire. */
  expiresAt: string | null;
}

const CODE_LENGTH = 40;
/** How long a code can be exchanged. */
const LIFETIME_MS = 10 * 60_000;

const EXPIRE = 'delete from authorization_code where expires_at <= $1';

const INSERT = `
  insert into authorization_code (id, application_id, hash, request_sealed, created_at, expires_at)
  values ($1, $2, $3, $4, $5, $6)`;

const TAKE = `
  delete from authorization_code where hash = $1 and application_id = $2 and expires_at > $3
  returning id, request_sealed as "requestSealed"`;

/** Single-use codes between authorizing and connecting. */
@Injectable()
export class AuthorizationCodes {
  constructor(
    private readonly secretBox: SecretBox,
    private readonly clock: Clock,
  ) {}

  /**
   * Stores the request encrypted, in the caller's transaction.
   * @returns the code; only its hash is stored
   */
  async issue(
    em: EntityManager,
    applicationId: string,
    request: AuthorizedRequest,
  ): Promise<string> {
    const now = this.clock.now();
    const sql = sqlOf(em);
    // Each new code first deletes the codes that have expired.
    await sql.query(EXPIRE, [now]);
    const id = newId();
    const code = randomBase36(CODE_LENGTH);
    await sql.query(INSERT, [
      id,
      applicationId,
      hashToken(code),
      this.secretBox.sealJson(request, authorizationCodeContext(id)),
      now,
      new Date(now.getTime() + LIFETIME_MS),
    ]);
    return code;
  }

  /**
   * Uses the code up, in the caller's transaction. If several callers send the same code, only one
   * gets the request.
   * @returns `undefined` if the code is unknown, used, expired or belongs to another application
   */
  async take(
    em: EntityManager,
    applicationId: string,
    code: string,
  ): Promise<AuthorizedRequest | undefined> {
    const [row] = await sqlOf(em).query<RowOf<AuthorizationCode, 'id' | 'requestSealed'>>(TAKE, [
      hashToken(code),
      applicationId,
      this.clock.now(),
    ]);
    return (
      row &&
      (this.secretBox.openJson(
        row.requestSealed,
        authorizationCodeContext(row.id),
      ) as AuthorizedRequest)
    );
  }
}

const PRUNE = `
  delete from authorization_code
  where id = any(array(select id from authorization_code where expires_at < $1 limit 1000)) returning 1`;

/**
 * Deletes expired authorization codes, at most 1000 per call.
 * @returns how many it deleted
 */
export async function pruneAuthorizationCodes(sql: Sql, now: Date): Promise<number> {
  return (await sql.query(PRUNE, [now])).length;
}
