import type { Actor } from '../../platform/audit/actor.ts';
import { recordAudit } from '../../platform/audit/record-audit.ts';
import { hashToken } from '../../platform/base/crypto/token-hash.ts';
import { InvalidInputError, NotFoundError } from '../../platform/base/errors/domain-error.ts';
import { isId, newId, randomBase36, SECRET_LENGTH } from '../../platform/base/ids/ids.ts';
import type { Clock } from '../../platform/base/time/clock.ts';
import type { Database, Sql } from '../../platform/database/sql.ts';
import { OperatorDisabledError } from './operator.errors.ts';
import { includesRole, type OperatorRole } from './operator-role.ts';

/** A token of an operator, without the token itself. */
export interface ListedOperatorToken {
  id: string;
  operatorId: string;
  operatorName: string;
  note: string;
  role: OperatorRole;
  createdAt: Date;
  expiresAt: Date | null;
  /** Time of the last request, up to a minute late; `null` if the token was never used. */
  lastUsedAt: Date | null;
}

export interface NewOperatorToken {
  operatorName: string;
  /** What the token is for; at most 200 characters. */
  note: string;
  /** The token can do no more than its operator either. */
  role: OperatorRole;
  /** `null` = the token works until it is revoked. */
  lifetimeSeconds: number | null;
}

const LONGEST_NOTE = 200;

const LIST = `
  select t.id, o.id as "operatorId", o.name as "operatorName", t.note, t.role, t.created_at as "createdAt",
         t.expires_at as "expiresAt", t.last_used_at as "lastUsedAt"
  from operator_token t join operator o on o.id = t.operator_id order by t.id`;

const OPERATOR = `
  select id, role, disabled_at is not null as "isDisabled" from operator where name = $1 for share`;

const INSERT = `
  insert into operator_token (id, operator_id, hash, note, role, created_at, expires_at)
  values ($1, $2, $3, $4, $5, $6, $7)`;

const REVOKE = `
  delete from operator_token t using operator o
  where t.id = $1 and o.id = t.operator_id returning o.name, t.note`;

/** Tokens for the admin API. They are shown once and stored as hashes. */
export class OperatorTokens {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** All tokens, oldest first, including expired ones. */
  list(): Promise<ListedOperatorToken[]> {
    return this.database.query<ListedOperatorToken>(LIST);
  }

  /**
   * @returns the id, and the token, which cannot be read again
   * @throws {NotFoundError} if there is no such operator
   * @throws {OperatorDisabledError}
   * @throws {InvalidInputError} if the note is too long, or the role is more than the operator has
   */
  async create(actor: Actor, wanted: NewOperatorToken): Promise<{ id: string; token: string }> {
    const { note, role, lifetimeSeconds } = wanted;
    if (note.length > LONGEST_NOTE)
      throw new InvalidInputError(`note: must not be longer than ${LONGEST_NOTE} characters`);
    const operatorName = wanted.operatorName.toLowerCase();
    const id = newId();
    const token = randomBase36(SECRET_LENGTH);
    const now = this.clock.now();
    const expiresAt =
      lifetimeSeconds === null ? null : new Date(now.getTime() + lifetimeSeconds * 1000);
    await this.database.transaction(async (sql) => {
      const operatorId = await lockedOwner(sql, operatorName, role);
      await sql.query(INSERT, [id, operatorId, hashToken(token), note, role, now, expiresAt]);
      await recordAudit(sql, {
        actor,
        action: 'operator-token.create',
        target: { type: 'operator-token', id },
        details: { operator: operatorName, role, note, expiresAt },
      });
    });
    return { id, token };
  }

  /**
   * Revokes a token from the next request on.
   * @throws {NotFoundError}
   */
  async revoke(actor: Actor, id: string): Promise<void> {
    await this.database.transaction(async (sql) => {
      const [row] = isId(id) ? await sql.query<{ name: string; note: string }>(REVOKE, [id]) : [];
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

/** Locks the operator of a new token until the transaction ends, and returns the operator's id. */
async function lockedOwner(sql: Sql, name: string, role: OperatorRole): Promise<string> {
  const [owner] = name.includes('\0')
    ? []
    : await sql.query<{ id: string; role: OperatorRole; isDisabled: boolean }>(OPERATOR, [name]);
  if (!owner) throw new NotFoundError('operator', name);
  if (owner.isDisabled) throw new OperatorDisabledError(name);
  if (!includesRole(owner.role, role))
    throw new InvalidInputError(
      `role: must be ${owner.role}, because ${name} has only the role ${owner.role}`,
    );
  return owner.id;
}
