import type { Actor } from '../../platform/audit/actor.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { CONFIRMED_UNTIL } from './oidc-confirmation.ts';
import { LastOperatorError, OwnAccessError } from './operator.errors.ts';
import type { Operator } from './operator.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/**
 * The best way to sign in that any enabled operator with the role `operate` has.
 *
 * - `own`: by a password, or at the OpenID Connect provider of the settings, with a sign-in within
 *   the last 30 days
 * - `link`: only by a link, which another operator or a command has to make
 * - `none`: there is no such operator
 */
export type FullAccess = 'own' | 'link' | 'none';

/** An operator, or the actor, of a change. */
export interface LockedOperator extends RowOf<Operator, 'id' | 'name' | 'issuer'> {
  isChanged: boolean;
  mayOperate: boolean;
  isDisabled: boolean;
}

const RANK: Readonly<Record<FullAccess, number>> = { own: 2, link: 1, none: 0 };

const FULL_ACCESS = `
  select case when bool_or(o.password_hash is not null or (o.issuer = $1 and ${CONFIRMED_UNTIL} > $2)) then 'own'
              when count(*) > 0 then 'link' else 'none' end as access
  from operator o where o.role = 'operate' and o.disabled_at is null`;

/**
 * Locks the changed operator, the actor, and everybody who may change operators, in one order. So
 * changes run one after the other: of two operators who remove each other, only one succeeds, and
 * of the last two, only one can be removed.
 */
const LOCK = `
  select id, name, issuer, name = $1 as "isChanged", role = 'operate' and disabled_at is null as "mayOperate",
         disabled_at is not null as "isDisabled"
  from operator where name = $1 or id = $2 or (role = 'operate' and disabled_at is null)
  order by id for update`;

/**
 * @param issuer of the OpenID Connect provider in the settings; `null` if there is none
 * @returns how operators with full rights can sign in
 */
export async function fullAccess(sql: Sql, issuer: string | null, now: Date): Promise<FullAccess> {
  const [row] = await sql.query<{ access: FullAccess }>(FULL_ACCESS, [issuer, now]);
  return row?.access ?? 'none';
}

/**
 * Locks the operators that a change concerns, until the transaction ends.
 * @param name in lower case
 */
export async function lockOperators(
  sql: Sql,
  name: string,
  actorId: string | null,
): Promise<LockedOperator[]> {
  return name.includes('\0') ? [] : sql.query<LockedOperator>(LOCK, [name, actorId]);
}

/**
 * Requires that an actor who takes access away is somebody else than the changed operator, and may
 * still change operators. Commands on the server are exempt.
 * @throws {OwnAccessError}
 */
export function requireOther(
  actor: Actor,
  changed: LockedOperator,
  locked: readonly LockedOperator[],
): void {
  if (actor.kind !== 'operator' || actor.id === null) return;
  if (changed.id === actor.id) throw new OwnAccessError(changed.name, true);
  if (!locked.some(({ id, mayOperate }) => id === actor.id && mayOperate))
    throw new OwnAccessError(changed.name, false);
}

/**
 * Requires that a change has left operators who can sign in with full rights as well as before.
 * @throws {LastOperatorError}
 */
export function requireFullAccess(
  changed: LockedOperator,
  before: FullAccess,
  after: FullAccess,
): void {
  if (RANK[after] < RANK[before]) throw new LastOperatorError(changed.name, after);
}
