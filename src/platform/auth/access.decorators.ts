import {
  applyDecorators,
  createParamDecorator,
  type ExecutionContext,
  SetMetadata,
  UseGuards,
} from '@nestjs/common';
import { ApiBasicAuth, ApiBearerAuth, ApiSecurity } from '@nestjs/swagger';
import type { Request } from 'express';
import { ApiBetaErrors, ApiErrors } from '../http/error.schema.ts';
import { AccountGuard, ApplicationGuard, ApplicationSecretGuard } from './guards.ts';
import { ACCESS_RULE, type AccessRule, PUBLIC_ROUTE } from './access-rule.ts';
import { type AccountPrincipal, type ApplicationPrincipal, principalOf } from './principal.ts';

/**
 * Access token of an account: as Bearer, or as the user name of Basic (api facts 1.2). Put it on the controller;
 * `Access` on a handler says what the handler needs.
 */
export function AccountAuth(rule: AccessRule): ClassDecorator {
  return applyDecorators(
    UseGuards(AccountGuard),
    SetMetadata(ACCESS_RULE, rule),
    ApiBearerAuth('accessToken'),
    ApiSecurity('accessTokenAsUser'),
    ApiErrors(400, 401, 403, 429),
  );
}

/** What this handler needs, instead of what its controller says. */
export function Access(rule: AccessRule): MethodDecorator {
  return SetMetadata(ACCESS_RULE, rule);
}

/** Basic `client_id:client_secret`, on the integrations address (spec 5). */
export function ApplicationAuth(): ClassDecorator {
  return applyDecorators(
    UseGuards(ApplicationGuard),
    ApiBasicAuth('application'),
    ApiBetaErrors(400, 401, 429),
  );
}

/** Basic with the client secret as user name, under `/a/{client_id}` (api facts 1.2). */
export function ApplicationSecretAuth(): ClassDecorator {
  return applyDecorators(
    UseGuards(ApplicationSecretGuard),
    ApiBasicAuth('applicationSecret'),
    ApiErrors(400, 401, 429),
  );
}

/** A route that anybody may call. A test fails for routes that carry neither this nor one of the above. */
export function Public(): ClassDecorator & MethodDecorator {
  return SetMetadata(PUBLIC_ROUTE, true);
}

export const CurrentAccount = createParamDecorator(
  (_: unknown, context: ExecutionContext): AccountPrincipal => {
    const principal = principalOf(context.switchToHttp().getRequest<Request>());
    if (principal?.kind !== 'account')
      throw new Error('CurrentAccount on a route without AccountAuth');
    return principal;
  },
);

function applicationOf(context: ExecutionContext): ApplicationPrincipal {
  const principal = principalOf(context.switchToHttp().getRequest<Request>());
  if (principal?.kind === 'application') return principal;
  throw new Error('CurrentApplication on a route without application credentials');
}

export const CurrentApplication = createParamDecorator((_: unknown, context: ExecutionContext) =>
  applicationOf(context),
);

/** The id of the application of this request. */
export const ApplicationId = createParamDecorator(
  (_: unknown, context: ExecutionContext) => applicationOf(context).applicationId,
);
