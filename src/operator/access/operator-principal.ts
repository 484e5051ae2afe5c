import type { Request } from 'express';
import { setRequestActor } from '../../platform/audit/current-actor.ts';
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

const principals = new WeakMap<Request, OperatorPrincipal>();

/**
 * Remembers the operator of a request. The guard calls it.
 * @param address network address of the client
 */
export function setOperator(request: Request, operator: OperatorPrincipal, address: string): void {
  principals.set(request, operator);
  const { operatorId: id, name } = operator;
  setRequestActor(request, { kind: 'operator', id, name, address: address || null });
}

/** The operator that sent this request; `undefined` before the guard, and for other callers. */
export function operatorOf(request: Request): OperatorPrincipal | undefined {
  return principals.get(request);
}
