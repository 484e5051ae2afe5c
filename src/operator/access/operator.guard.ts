import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { FailedAttempts } from '../../platform/auth/failed-attempts.ts';
import { bearerToken } from '../../platform/auth/presented-token.ts';
import { clientAddress } from '../../platform/base/client-address.ts';
import { isConsolePath } from '../../platform/http/surface.ts';
import { isFromOwnPage } from './csrf.ts';
import { OperatorCredentials } from './operator-credentials.ts';
import { type OperatorPrincipal, setOperator } from './operator-principal.ts';
import { includesRole, type OperatorRole } from './operator-role.ts';
import {
  ForeignFormError,
  OperatorSignInRequiredError,
  RoleMissingError,
} from './operator.errors.ts';
import { presentedSession } from './session-cookie.ts';

/** Metadata key of the role that a handler needs. */
export const OPERATOR_ROLE = 'carillon:operator-role';

/** Methods that change nothing, so that a foreign page gains nothing by causing them. */
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/**
 * Admits operators with the role that `OperatorAccess` names. Pages of the console take the cookie
 * of a session, and their forms a token against requests from other sites. All other paths take
 * only a token of an operator as Bearer, which browsers never send by themselves.
 */
@Injectable()
export class OperatorGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly credentials: OperatorCredentials,
    private readonly failures: FailedAttempts,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>();
    const needed = this.reflector.getAllAndOverride<OperatorRole>(OPERATOR_ROLE, [
      context.getHandler(),
      context.getClass(),
    ]);
    const operator = isConsolePath(request.path)
      ? await this.#ofSession(request)
      : await this.#ofToken(request);
    if (!includesRole(operator.role, needed)) throw new RoleMissingError(operator.name);
    setOperator(request, operator, clientAddress(request));
    return true;
  }

  async #ofToken(request: Request): Promise<OperatorPrincipal> {
    const operator = await this.credentials.byToken(bearerToken(request) ?? '');
    if (operator) return operator;
    if (request.headers.authorization !== undefined)
      await this.failures.countWrongSecret(clientAddress(request));
    throw new OperatorSignInRequiredError(false);
  }

  async #ofSession(request: Request): Promise<OperatorPrincipal> {
    const session = presentedSession(request);
    const operator = await this.credentials.bySession(session);
    if (!operator) throw new OperatorSignInRequiredError(true);
    if (!SAFE_METHODS.has(request.method) && !isFromOwnPage(request, session))
      throw new ForeignFormError();
    return operator;
  }
}
