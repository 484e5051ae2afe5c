import type { Actor } from '../../platform/audit/actor.ts';
import { recordAudit } from '../../platform/audit/record-audit.ts';
import {
  ConflictError,
  InvalidInputError,
  NotFoundError,
} from '../../platform/base/errors/domain-error.ts';
import { newId } from '../../platform/base/ids/ids.ts';
import type { Clock } from '../../platform/base/time/clock.ts';
import type { Database, Sql } from '../../platform/database/sql.ts';
import { hashPassword } from './password-hash.ts';
import type { OperatorRole } from './operator-role.ts';

/** An operator, without the password. */
export interface ListedOperator {
  id: string;
  name: string;
  role: OperatorRole;
  /** Whether the operator can sign in by password. */
  hasPassword: boolean;
  /** Issuer of an operator who signs in by OpenID Connect; `null` for all others. */
  issuer: string | null;
  createdAt: Date;
  lastSignInAt: Date | null;
  /** Sessions that have not ended. */
  sessions: number;
  /** Tokens that have not expired. */
  tokens: number;
}

export interface NewOperator {
  /** 1 to 100 letters, digits and `. _ @ + -`; stored in lower case. */
  name: string;
  role: OperatorRole;
  /** 12 to 200 characters; `null` = the operator gets tokens and sign-in links only. */
  password: string | null;
}

const NAME = /^[\p{L}\p{N}._@+-]{1,100}$/u;
const SHORTEST_PASSWORD = 12;
const LONGEST_PASSWORD = 200;

const LIST = `
  select o.id, o.name, o.role, o.password_hash is not null as "hasPassword", o.issuer,
         o.created_at as "createdAt", o.last_sign_in_at as "lastSignInAt",
         (select count(*)::int from operator_session s where s.operator_id = o.id and s.ends_at > $1) as sessions,
         (select count(*)::int from operator_token t
          where t.operator_id = o.id and (t.expires_at is null or t.expires_at > $1)) as tokens
  from operator o order by o.name`;

const INSERT = `
  insert into operator (id, name, role, password_hash, created_at, updated_at)
  values ($1, $2, $3, $4, $5, $5) on conflict (name) do nothing returning id`;

const SET_PASSWORD =
  'update operator set password_hash = $2, updated_at = $3 where name = $1 returning id';
const SET_ROLE = 'update operator set role = $2, updated_at = $3 where name = $1 returning id';
const REMOVE = 'delete from operator where name = $1 returning id';
const END_SESSIONS = 'delete from operator_session where operator_id = $1';
const END_LINKS = 'delete from operator_link where operator_id = $1';

/** The people who run the server. */
export class Operators {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** All operators, by name. */
  list(): Promise<ListedOperator[]> {
    return this.database.query<ListedOperator>(LIST, [this.clock.now()]);
  }

  /**
   * @returns the id of the new operator
   * @throws {InvalidInputError} for a name or a password that is not allowed
   * @throws {ConflictError} if the name is taken
   */
  async create(actor: Actor, { name, role, password }: NewOperator): Promise<string> {
    const checked = checkedName(name);
    const hash = password === null ? null : await hashPassword(checkedPassword(password));
    return this.database.transaction(async (sql) => {
      const values = [newId(), checked, role, hash, this.clock.now()];
      const [row] = await sql.query<{ id: string }>(INSERT, values);
      if (!row)
        throw new ConflictError('operator.exists', `There is already an operator ${checked}`);
      await recordAudit(sql, {
        actor,
        action: 'operator.create',
        target: { type: 'operator', id: row.id },
        details: { name: checked, role, password: hash !== null },
      });
      return row.id;
    });
  }

  /**
   * Sets a password, or removes it with `null`. All sessions and sign-in links of the operator end.
   * @throws {NotFoundError}
   * @throws {InvalidInputError}
   */
  async setPassword(actor: Actor, name: string, password: string | null): Promise<void> {
    const hash = password === null ? null : await hashPassword(checkedPassword(password));
    await this.#change(actor, 'operator.set-password', name, { password: hash !== null }, (sql) =>
      sql.query<{ id: string }>(SET_PASSWORD, [name.toLowerCase(), hash, this.clock.now()]),
    );
  }

  /**
   * Changes the role. All sessions and sign-in links of the operator end; its tokens are limited to
   * the new role.
   * @throws {NotFoundError}
   */
  async setRole(actor: Actor, name: string, role: OperatorRole): Promise<void> {
    await this.#change(actor, 'operator.set-role', name, { role }, (sql) =>
      sql.query<{ id: string }>(SET_ROLE, [name.toLowerCase(), role, this.clock.now()]),
    );
  }

  /**
   * Removes an operator with its sessions, sign-in links and tokens.
   * @throws {NotFoundError}
   */
  async remove(actor: Actor, name: string): Promise<void> {
    await this.#change(actor, 'operator.remove', name, {}, (sql) =>
      sql.query<{ id: string }>(REMOVE, [name.toLowerCase()]),
    );
  }

  async #change(
    actor: Actor,
    action: string,
    name: string,
    details: Readonly<Record<string, unknown>>,
    change: (sql: Sql) => Promise<{ id: string }[]>,
  ): Promise<void> {
    await this.database.transaction(async (sql) => {
      const [row] = name.includes('\0') ? [] : await change(sql);
      if (!row) throw new NotFoundError('operator', name);
      await sql.query(END_SESSIONS, [row.id]);
      await sql.query(END_LINKS, [row.id]);
      const target = { type: 'operator', id: row.id };
      await recordAudit(sql, { actor, action, target, details: { name: name.toLowerCase(), ...details } }); // prettier-ignore
    });
  }
}

function checkedName(name: string): string {
  if (NAME.test(name)) return name.toLowerCase();
  throw new InvalidInputError(
    'name: must be 1 to 100 letters, digits and the characters . _ @ + -',
  );
}

function checkedPassword(password: string): string {
  if (password.length >= SHORTEST_PASSWORD && password.length <= LONGEST_PASSWORD) return password;
  throw new InvalidInputError(
    `password: must be ${SHORTEST_PASSWORD} to ${LONGEST_PASSWORD} characters long`,
  );
}
