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
import {
  fullAccess,
  type LockedOperator,
  lockOperators,
  requireFullAccess,
  requireOther,
} from './last-operator.ts';
import { TOKEN_END } from './oidc-confirmation.ts';
import {
  OperatorByOidcError,
  OperatorDisabledError,
  OperatorSignInRequiredError,
} from './operator.errors.ts';
import { hashPassword } from './password-hash.ts';
import type { OperatorRole } from './operator-role.ts';
import type { Operator } from './operator.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/** An operator, without the password. */
export interface ListedOperator extends RowOf<
  Operator,
  'id' | 'name' | 'role' | 'issuer' | 'createdAt' | 'disabledAt' | 'lastSignInAt'
> {
  /** Whether the operator can sign in by password. */
  hasPassword: boolean;
  /** Sessions that have not ended. */
  sessions: number;
  /** Tokens that have not ended. */
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
/** Characters that a password needs at least. */
export const SHORTEST_PASSWORD = 12;
const LONGEST_PASSWORD = 200;

const LIST = `
  select o.id, o.name, o.role, o.password_hash is not null as "hasPassword", o.issuer,
         o.created_at as "createdAt", o.disabled_at as "disabledAt", o.last_sign_in_at as "lastSignInAt",
         (select count(*)::int from operator_session s where s.operator_id = o.id and s.ends_at > $1) as sessions,
         (select count(*)::int from operator_token t
          where t.operator_id = o.id and coalesce(${TOKEN_END} > $1, true)) as tokens
  from operator o order by o.name`;

const INSERT = `
  insert into operator (id, name, role, password_hash, created_at, updated_at)
  values ($1, $2, $3, $4, $5, $5) on conflict (name) do nothing returning id`;

const SET_PASSWORD = 'update operator set password_hash = $2, updated_at = $3 where id = $1';
const SET_ROLE = 'update operator set role = $2, updated_at = $3 where id = $1';
const DISABLE =
  'update operator set disabled_at = coalesce(disabled_at, $2), updated_at = $2 where id = $1';
const ENABLE = 'update operator set disabled_at = null, updated_at = $2 where id = $1';
const REMOVE = 'delete from operator where id = $1';
const END_SESSIONS = 'delete from operator_session where operator_id = $1';
const OWN_SESSION = 'select id from operator_session where id = $1 and operator_id = $2';
const END_LINKS = 'delete from operator_link where operator_id = $1';

/** A new password that an operator chooses for the own account. */
export interface OwnPassword {
  name: string;
  /** The session of the request. */
  sessionId: string | null;
  password: string;
}

/** How a change of an operator is made. */
export interface ChangeOptions {
  /**
   * Makes the change even if no operator with the role `operate` can sign in afterwards. Default
   * false.
   */
  force?: boolean;
}

/** A change of an operator. */
interface Change {
  action: string;
  /** Whether the operator can do less afterwards. */
  takesAccess: boolean;
  details?: Readonly<Record<string, unknown>>;
  options?: ChangeOptions;
  run: (sql: Sql, operator: LockedOperator) => Promise<unknown>;
}

/**
 * The people who run the server. Operators cannot remove, disable or restrict themselves, and no
 * change leaves fewer ways to sign in with full rights than before (`last-operator.ts`), unless a
 * command on the server forces it.
 */
export class OperatorsService {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    /** Issuer of the OpenID Connect provider in the settings; `null` if there is none. */
    private readonly issuer: string | null,
  ) {}

  /** All operators, by name. */
  list(): Promise<ListedOperator[]> {
    return this.database.query<ListedOperator>(LIST, [this.clock.now()]);
  }

  /** @throws {NotFoundError} if there is no operator with the id */
  async get(id: string): Promise<ListedOperator> {
    const found = (await this.list()).find((operator) => operator.id === id);
    if (!found) throw new NotFoundError('operator', id);
    return found;
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
   * @throws {ConflictError} if the operator signs in by OpenID Connect: the password would outlive
   *   the role that the provider gives
   * @throws {OwnAccessError} if an operator would remove the own password
   * @throws {LastOperatorError}
   */
  async setPassword(
    actor: Actor,
    name: string,
    password: string | null,
    options?: ChangeOptions,
  ): Promise<void> {
    const hash = password === null ? null : await hashPassword(checkedPassword(password));
    await this.#setHash(actor, name, hash, { ...options });
  }

  /**
   * Removes the password of an operator who will get a sign-in link to choose another one. All
   * sessions and sign-in links of the operator end.
   * @throws {NotFoundError}
   * @throws {OperatorDisabledError} no sign-in link can be made: the password stays
   * @throws {OwnAccessError} if an operator would remove the own password
   * @throws {LastOperatorError}
   */
  async resetPassword(actor: Actor, name: string): Promise<void> {
    await this.#setHash(actor, name, null, {
      check: (_, operator) => {
        if (operator.isDisabled) throw new OperatorDisabledError(operator.name);
      },
    });
  }

  /**
   * Sets the password of the operator who asks, like `setPassword`. Check the current password
   * before.
   * @returns the stored text of the new password
   * @throws {OperatorSignInRequiredError} if the session has ended. Each change of an operator ends
   *   the sessions, so a password that somebody else has just reset stays reset.
   */
  async setOwnPassword(actor: Actor, { name, sessionId, password }: OwnPassword): Promise<string> {
    const hash = await hashPassword(checkedPassword(password));
    await this.#setHash(actor, name, hash, {
      check: async (sql, { id }) => {
        const [session] = await sql.query(OWN_SESSION, [sessionId, id]);
        if (!session) throw new OperatorSignInRequiredError(true);
      },
    });
    return hash;
  }

  /** @param how `check` is called first, while the operator is locked */
  async #setHash(
    actor: Actor,
    name: string,
    hash: string | null,
    how: ChangeOptions & { check?: (sql: Sql, operator: LockedOperator) => Promise<void> | void },
  ): Promise<void> {
    const { check, ...options } = how;
    await this.#change(actor, name, {
      action: 'operator.set-password',
      takesAccess: hash === null,
      options,
      details: { password: hash !== null },
      run: async (sql, operator) => {
        await check?.(sql, operator);
        const { id, issuer } = operator;
        if (hash !== null && issuer !== null)
          throw new OperatorByOidcError(`${name} signs in at ${issuer} and has no password here.`);
        await sql.query(SET_PASSWORD, [id, hash, this.clock.now()]);
      },
    });
  }

  /**
   * Changes the role. All sessions and sign-in links of the operator end; its tokens are limited to
   * the new role.
   * @throws {NotFoundError}
   * @throws {ConflictError} if the operator signs in by OpenID Connect: the next sign-in would set
   *   the role of the provider again
   * @throws {OwnAccessError} if operators would restrict themselves
   * @throws {LastOperatorError}
   */
  async setRole(
    actor: Actor,
    name: string,
    role: OperatorRole,
    options?: ChangeOptions,
  ): Promise<void> {
    await this.#change(actor, name, {
      action: 'operator.set-role',
      takesAccess: role === 'read',
      details: { role },
      ...(options ? { options } : {}),
      run: async (sql, { id, issuer }) => {
        if (issuer !== null)
          throw new OperatorByOidcError(
            `${name} signs in at ${issuer}, which decides the role at each sign-in. Change it there, or disable ${name}.`,
          );
        await sql.query(SET_ROLE, [id, role, this.clock.now()]);
      },
    });
  }

  /**
   * Refuses every sign-in and token of an operator until `enable`. Sessions and sign-in links end.
   * Does nothing more to an operator who is already disabled.
   * @throws {NotFoundError}
   * @throws {OwnAccessError} if operators would disable themselves
   * @throws {LastOperatorError}
   */
  async disable(actor: Actor, name: string, options?: ChangeOptions): Promise<void> {
    await this.#change(actor, name, {
      action: 'operator.disable',
      takesAccess: true,
      ...(options ? { options } : {}),
      run: (sql, { id }) => sql.query(DISABLE, [id, this.clock.now()]),
    });
  }

  /**
   * Ends `disable`: the password and the tokens work again.
   * @throws {NotFoundError}
   */
  async enable(actor: Actor, name: string): Promise<void> {
    await this.#change(actor, name, {
      action: 'operator.enable',
      takesAccess: false,
      run: (sql, { id }) => sql.query(ENABLE, [id, this.clock.now()]),
    });
  }

  /**
   * Removes an operator with its sessions, sign-in links and tokens.
   * @throws {NotFoundError}
   * @throws {OwnAccessError} if operators would remove themselves
   * @throws {LastOperatorError}
   */
  async remove(actor: Actor, name: string, options?: ChangeOptions): Promise<void> {
    await this.#change(actor, name, {
      action: 'operator.remove',
      takesAccess: true,
      ...(options ? { options } : {}),
      run: (sql, { id }) => sql.query(REMOVE, [id]),
    });
  }

  async #change(actor: Actor, given: string, change: Change): Promise<void> {
    const { action, takesAccess, details, options, run } = change;
    const name = given.toLowerCase();
    await this.database.transaction(async (sql) => {
      const locked = await lockOperators(sql, name, actor.id);
      const operator = locked.find(({ isChanged }) => isChanged);
      if (!operator) throw new NotFoundError('operator', given);
      if (takesAccess) requireOther(actor, operator, locked);
      const access = () => fullAccess(sql, this.issuer, this.clock.now());
      const before = await access();
      await run(sql, operator);
      if (!options?.force) requireFullAccess(operator, before, await access());
      await sql.query(END_SESSIONS, [operator.id]);
      await sql.query(END_LINKS, [operator.id]);
      const target = { type: 'operator', id: operator.id };
      await recordAudit(sql, { actor, action, target, details: { name, ...details } });
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
