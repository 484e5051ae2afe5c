/** `read` may look at everything; `operate` may also change things. */
export const OPERATOR_ROLES = ['read', 'operate'] as const;
export type OperatorRole = (typeof OPERATOR_ROLES)[number];
