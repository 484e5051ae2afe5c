import {
  applyDecorators,
  createParamDecorator,
  type ExecutionContext,
  SetMetadata,
  UseGuards,
} from '@nestjs/common';
import { ApiBearerAuth } from '@nestjs/swagger';
import type { Request } from 'express';
import type { Actor } from '../../platform/audit/actor.ts';
import { currentActor } from '../../platform/audit/current-actor.ts';
import { ApiErrors } from '../../platform/http/errors/error.schema.ts';
import { OPERATOR_ROLE, OperatorGuard } from './operator.guard.ts';
import { operatorOf, type OperatorPrincipal } from './operator-principal.ts';
import type { OperatorRole } from './operator-role.ts';

/**
 * Requires an operator with this role: under `/console` the session's cookie, elsewhere a token as
 * Bearer. On a handler it replaces the role of its controller.
 */
export function OperatorAccess(role: OperatorRole): ClassDecorator & MethodDecorator {
  const ofController = applyDecorators(
    UseGuards(OperatorGuard),
    SetMetadata(OPERATOR_ROLE, role),
    ApiBearerAuth('operatorToken'),
    ApiErrors(400, 401, 403, 429),
  ) as (target: object) => void;
  const ofHandler = SetMetadata(OPERATOR_ROLE, role) as MethodDecorator;
  const decorate = (target: object, name?: string | symbol, method?: PropertyDescriptor) => {
    if (name !== undefined && method) ofHandler(target, name, method);
    else ofController(target);
  };
  return decorate as ClassDecorator & MethodDecorator;
}

/** The operator of this request, for the audit log. For handlers behind `OperatorAccess`. */
export const CurrentActor = createParamDecorator((_: unknown, context: ExecutionContext): Actor => {
  if (!operatorOf(context.switchToHttp().getRequest<Request>()))
    throw new Error('CurrentActor is used on a route without OperatorAccess');
  return currentActor();
});

/** The operator of this request. For handlers behind `OperatorAccess`. */
export const CurrentOperator = createParamDecorator(
  (_: unknown, context: ExecutionContext): OperatorPrincipal => {
    const operator = operatorOf(context.switchToHttp().getRequest<Request>());
    if (!operator) throw new Error('CurrentOperator is used on a route without OperatorAccess');
    return operator;
  },
);
