import type { Request } from 'express';
import type { OperatorRole } from './operator-role.ts';

/** The operator that sent a request. */
export interface OperatorPrincipal {
  operatorId: string;
  name: string;
  /** What this request may do: the weaker one of the roles of the operator and of the token. */
  role: OperatorRole;
  /** Id of the session; `null` if the request has an operator's token. */
  sessionId: string | null;
  /** Id of the operator's token; `null` if the request belongs to a session. */
  tokenId: string | null;
}

/** Property of a request in which the guard keeps its operator. */
export const OPERATOR_OF_REQUEST = 'operator';

/** The operator that sent this request; `undefined` before the guard, and for other callers. */
export function operatorOf(request: Request): OperatorPrincipal | undefined {
  return (request as Request & { [OPERATOR_OF_REQUEST]?: OperatorPrincipal })[OPERATOR_OF_REQUEST];
}
