import type { Actor } from '../../platform/audit/actor.ts';
import { recordAudit } from '../../platform/audit/record-audit.ts';
import { hashToken } from '../../platform/base/crypto/token-hash.ts';
import { InvalidInputError, NotFoundError } from '../../platform/base/errors/domain-error.ts';
import { isId, newId, randomBase36, SECRET_LENGTH } from '../../platform/base/ids/ids.ts';
import type { Clock } from '../../platform/base/time/clock.ts';
import type { Database, Sql } from '../../platform/database/sql.ts';
import { OIDC_CONFIRMED_DAYS, TOKEN_END } from './oidc-confirmation.ts';
import { OperatorDisabledError } from './operator.errors.ts';
import { includesRole, type OperatorRole } from './operator-role.ts';
import type { OperatorToken } from './operator-token.entity.ts';
import type { Operator } from './operator.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/** A token of an operator, without the token itself. */
export interface ListedOperatorToken extends RowOf<
  OperatorToken,
  'id' | 'note' | 'role' | 'createdAt' | 'lastUsedAt'
> {
  /**
   * When the token ends, or ended; `null` if it works until it is revoked. The token of an operator
   * of OpenID Connect ends 30 days after the operator's last sign-in, which a new sign-in puts off.
   */
  expiresAt: Date | null;
  operatorId: string;
  operatorName: string;
}

export interface NewOperatorToken {
  operatorName: string;
  /** What the token is for; at most 200 characters. */
  note: string;
  /** The token can do no more than its operator either. `null` = what the operator may. */
  role: OperatorRole | null;
  /** `null` = the token works until it is revoked, or its operator must sign in again. */
  lifetimeSeconds: number | null;
}

/** A token that was just created. */
export interface MadeOperatorToken {
  id: string;
  /** It cannot be read again. */
  token: string;
  role: OperatorRole;
  /** End of the lifetime that was asked for; `null` if none was. */
  expiresAt: Date | null;
  /** The token ends so many days after the last sign-in of its operator; `null` = it does not. */
  signInDays: number | null;
}

interface Owner extends RowOf<Operator, 'id' | 'role' | 'issuer'> {
  isDisabled: boolean;
}

const LONGEST_NOTE = 200;

const LIST = `
  select t.id, o.id as "operatorId", o.name as "operatorName", t.note, t.role, t.created_at as "createdAt",
         ${TOKEN_END} as "expiresAt", t.last_used_at as "lastUsedAt"
  from operator_token t join operator o on o.id = t.operator_id order by t.id`;

const OPERATOR = `
  select id, role, issuer, disabled_at is not null as "isDisabled" from operator where name = $1 for share`;

const INSERT = `
  insert into operator_token (id, operator_id, hash, note, role, created_at, expires_at)
  values ($1, $2, $3, $4, $5, $6, $7)`;

const REVOKE = `
  delete from operator_token t using operator o
  where t.id = $1 and o.id = t.operator_id returning o.name, t.note`;

/** Tokens for the admin API. They are shown once and stored as hashes. */
export class OperatorTokensService {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** All tokens, oldest first, including expired ones. */
  list(): Promise<ListedOperatorToken[]> {
    return this.database.query<ListedOperatorToken>(LIST);
  }

  /**
   * @throws {NotFoundError} if there is no such operator
   * @throws {OperatorDisabledError}
   * @throws {InvalidInputError} if the note is too long, or the role is more than the operator has
   */
  async create(actor: Actor, wanted: NewOperatorToken): Promise<MadeOperatorToken> {
    const { note, lifetimeSeconds } = wanted;
    if (note.length > LONGEST_NOTE)
      throw new InvalidInputError(`note: must not be longer than ${LONGEST_NOTE} characters`);
    const operator = wanted.operatorName.toLowerCase();
    const id = newId();
    const token = randomBase36(SECRET_LENGTH);
    const now = this.clock.now();
    const expiresAt =
      lifetimeSeconds === null ? null : new Date(now.getTime() + lifetimeSeconds * 1000);
    return this.database.transaction(async (sql) => {
      const owner = await lockedOwner(sql, operator, wanted.role);
      const role = wanted.role ?? owner.role;
      await sql.query(INSERT, [id, owner.id, hashToken(token), note, role, now, expiresAt]);
      await recordAudit(sql, {
        actor,
        action: 'operator-token.create',
        target: { type: 'operator-token', id },
        details: { operator, role, note, expiresAt },
      });
      const signInDays = owner.issuer === null ? null : OIDC_CONFIRMED_DAYS;
      return { id, token, role, expiresAt, signInDays };
    });
  }

  /**
   * Revokes a token from the next request on.
   * @throws {NotFoundError}
   */
  async revoke(actor: Actor, id: string): Promise<void> {
    await this.database.transaction(async (sql) => {
      const [row] = isId(id)
        ? await sql.query<RowOf<Operator, 'name'> & RowOf<OperatorToken, 'note'>>(REVOKE, [id])
        : [];
      if (!row) throw new NotFoundError('operator token', id);
      await recordAudit(sql, {
        actor,
        action: 'operator-token.revoke',
        target: { type: 'operator-token', id },
        details: { operator: row.name, note: row.note },
      });
    });
  }
}

/**
 * Locks the operator of a new token until the transaction ends.
 * @param role what the token may do; `null` = what the operator may
 */
async function lockedOwner(sql: Sql, name: string, role: OperatorRole | null): Promise<Owner> {
  const [owner] = name.includes('\0') ? [] : await sql.query<Owner>(OPERATOR, [name]);
  if (!owner) throw new NotFoundError('operator', name);
  if (owner.isDisabled) throw new OperatorDisabledError(name);
  if (role !== null && !includesRole(owner.role, role))
    throw new InvalidInputError(
      `role: must be ${owner.role}, because ${name} has only the role ${owner.role}`,
    );
  return owner;
}
