/** `read` may look at everything; `operate` may also change things. */
export const OPERATOR_ROLES = ['read', 'operate'] as const;
export type OperatorRole = (typeof OPERATOR_ROLES)[number];

/** Whether a role includes another one. */
export function includesRole(has: OperatorRole, needed: OperatorRole): boolean {
  return has === 'operate' || needed === 'read';
}

/** The weaker one of two roles. */
export function weakerRole(one: OperatorRole, other: OperatorRole): OperatorRole {
  return one === 'operate' && other === 'operate' ? 'operate' : 'read';
}
