import { type ExecutionContext, Injectable, UnauthorizedException } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { AuthGuard } from '@nestjs/passport';
import type { Request } from 'express';
import { FailedAttempts } from '../../platform/auth/failed-attempts.ts';
import { setRequestActor } from '../../platform/audit/current-actor.ts';
import { clientAddress } from '../../platform/base/client-address.ts';
import { RequestBodies } from '../../platform/http/bodies/request-bodies.ts';
import { isConsolePath } from '../../platform/http/listeners/surface.ts';
import { isFromOwnPage } from './sessions/csrf.ts';
import { OPERATOR_OF_REQUEST, type OperatorPrincipal, operatorOf } from './operator-principal.ts';
import { includesRole, type OperatorRole } from './operator-role.ts';
import {
  ForeignFormError,
  OperatorSignInRequiredError,
  RoleMissingError,
} from './operator.errors.ts';
import { presentedSession } from './sessions/session-cookie.ts';
import { OPERATOR_STRATEGY } from './strategies/operator-strategy-names.ts';

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
export class OperatorGuard extends AuthGuard([OPERATOR_STRATEGY.token, OPERATOR_STRATEGY.session]) {
  constructor(
    private readonly reflector: Reflector,
    private readonly failures: FailedAttempts,
    private readonly bodies: RequestBodies,
  ) {
    super();
  }

  /**
   * @throws {OperatorSignInRequiredError}
   * @throws {TooManyFailuresError} if the client has presented too many wrong tokens
   * @throws {ForeignFormError}
   * @throws {RoleMissingError}
   */
  override async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>();
    const needed = this.reflector.getAllAndOverride<OperatorRole>(OPERATOR_ROLE, [
      context.getHandler(),
      context.getClass(),
    ]);
    const operator = await this.#authenticate(context, request);
    if (!includesRole(operator.role, needed)) throw new RoleMissingError(operator.name);
    const { operatorId: id, name } = operator;
    const address = clientAddress(request) || null;
    setRequestActor(request, { kind: 'operator', id, name, address });
    return true;
  }

  /** Operators are no callers of the API, so they are not kept in `request.user`. */
  override getAuthenticateOptions(): { property: string } {
    return { property: OPERATOR_OF_REQUEST };
  }

  async #authenticate(context: ExecutionContext, request: Request): Promise<OperatorPrincipal> {
    const isConsole = isConsolePath(request.path);
    try {
      await super.canActivate(context);
    } catch (error) {
      if (!(error instanceof UnauthorizedException)) throw error;
      if (!isConsole && request.headers.authorization !== undefined)
        await this.failures.countWrongSecret(clientAddress(request));
      throw new OperatorSignInRequiredError(isConsole);
    }
    const operator = operatorOf(request);
    if (!operator) throw new OperatorSignInRequiredError(isConsole);
    await this.bodies.read(context, { caller: operator.operatorId });
    if (isConsole && !SAFE_METHODS.has(request.method)) {
      if (!isFromOwnPage(request, presentedSession(request))) throw new ForeignFormError();
    }
    return operator;
  }
}
