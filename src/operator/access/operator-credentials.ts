import { Injectable } from '@nestjs/common';
import { hashToken } from '../../platform/base/crypto/token-hash.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { databaseTrouble } from '../../platform/database/health/database-trouble.ts';
import { Database } from '../../platform/database/sql.ts';
import { TOKEN_END } from './oidc-confirmation.ts';
import type { OperatorPrincipal } from './operator-principal.ts';
import { type OperatorRole, weakerRole } from './operator-role.ts';
import { SESSION_IDLE_MS } from './sessions/session-lifetime.ts';

/** A use is stored only if the stored one is older than this. */
const USE_STORED_EVERY_MS = 60_000;
const LONGEST_SECRET = 200;

const BY_TOKEN = `
  select o.id as "operatorId", o.name, o.role as "ofOperator", t.role as "ofToken", t.id,
         t.last_used_at is null or t.last_used_at < $3 as "storeUse"
  from operator_token t join operator o on o.id = t.operator_id
  where t.hash = $1 and coalesce(${TOKEN_END} > $2, true) and o.disabled_at is null`;

const BY_SESSION = `
  select o.id as "operatorId", o.name, o.role as "ofOperator", o.role as "ofToken", s.id,
         s.last_used_at < $3 as "storeUse"
  from operator_session s join operator o on o.id = s.operator_id
  where s.hash = $1 and s.ends_at > $2 and s.last_used_at > $4 and o.disabled_at is null`;

const USE_TOKEN = 'update operator_token set last_used_at = $2 where id = $1';
const USE_SESSION = 'update operator_session set last_used_at = $2 where id = $1';

interface Row {
  operatorId: string;
  name: string;
  ofOperator: OperatorRole;
  ofToken: OperatorRole;
  /** Id of the token or the session. */
  id: string;
  storeUse: boolean;
}

/**
 * Finds the operator who presented a token or the cookie of a session. Results are not cached: a
 * revoked token, an ended session, and a disabled or removed operator are refused from the next
 * request on.
 */
@Injectable()
export class OperatorCredentials {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /**
   * @returns `undefined` if the token is unknown, revoked or expired, or of a disabled operator, or
   *   of an operator of OpenID Connect who has not signed in for 30 days
   */
  async byToken(token: string): Promise<OperatorPrincipal | undefined> {
    const row = await this.#find(BY_TOKEN, token, []);
    if (!row) return undefined;
    if (row.storeUse) await this.#storeUse(USE_TOKEN, row);
    return { ...principal(row), sessionId: null, tokenId: row.id };
  }

  /**
   * @param secret value of the session's cookie
   * @returns `undefined` if the session is unknown, has ended, or was not used for an hour
   */
  async bySession(secret: string): Promise<OperatorPrincipal | undefined> {
    const idleSince = new Date(this.clock.now().getTime() - SESSION_IDLE_MS);
    const row = await this.#find(BY_SESSION, secret, [idleSince]);
    if (!row) return undefined;
    if (row.storeUse) await this.#storeUse(USE_SESSION, row);
    return { ...principal(row), sessionId: row.id, tokenId: null };
  }

  /** Operators need the console most while the database accepts no writes. */
  async #storeUse(text: string, { id }: Row): Promise<void> {
    try {
      await this.database.query(text, [id, this.clock.now()]);
    } catch (error) {
      if (!databaseTrouble(error)) throw error;
    }
  }

  async #find(text: string, secret: string, more: readonly unknown[]): Promise<Row | undefined> {
    if (!secret || secret.length > LONGEST_SECRET) return undefined;
    const now = this.clock.now();
    const lastStored = new Date(now.getTime() - USE_STORED_EVERY_MS);
    const [row] = await this.database.query<Row>(text, [
      hashToken(secret),
      now,
      lastStored,
      ...more,
    ]);
    return row;
  }
}

const principal = ({ operatorId, name, ofOperator, ofToken }: Row) => ({
  operatorId,
  name,
  role: weakerRole(ofOperator, ofToken),
});
