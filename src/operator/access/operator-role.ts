import { OPERATOR_ROLES, type OperatorRole } from '../../platform/config/operator-roles.ts';

export { OPERATOR_ROLES, type OperatorRole } from '../../platform/config/operator-roles.ts';

/** Whether a role includes another one. */
export function includesRole(has: OperatorRole, needed: OperatorRole): boolean {
  return has === 'operate' || needed === 'read';
}

/** The weaker one of two roles. */
export function weakerRole(one: OperatorRole, other: OperatorRole): OperatorRole {
  return one === 'operate' && other === 'operate' ? 'operate' : 'read';
}

/** The roles that a holder of a role may give, the weakest first. */
export const rolesWithin = (role: OperatorRole): OperatorRole[] =>
  OPERATOR_ROLES.filter((one) => includesRole(role, one));
