import {
  applyDecorators,
  createParamDecorator,
  type ExecutionContext,
  SetMetadata,
  UseGuards,
} from '@nestjs/common';
import { ApiBasicAuth, ApiBearerAuth, ApiExtension, ApiSecurity } from '@nestjs/swagger';
import type { Request } from 'express';
import { ApiBetaErrors, ApiErrors } from '../http/errors/error.schema.ts';
import { AccountGuard, ApplicationGuard, ApplicationSecretGuard } from './guards.ts';
import { ACCESS_RULE, type AccessRule, PUBLIC_ROUTE } from './access-rule.ts';
import { type AccountPrincipal, type ApplicationPrincipal, principalOf } from './principal.ts';

/** Key in an operation of the document: scopes of which the token needs one. */
export const SCOPES = 'x-scopes';

/**
 * Requires the access token of an account, as Bearer or as the user name of Basic. For controllers;
 * `Access` on a handler replaces the rule.
 */
export function AccountAuth(rule: AccessRule): ClassDecorator {
  return applyDecorators(
    UseGuards(AccountGuard),
    SetMetadata(ACCESS_RULE, rule),
    ApiExtension(SCOPES, rule.anyScope ?? []),
    ApiBearerAuth('accessToken'),
    ApiSecurity('accessTokenAsUser'),
    ApiErrors(400, 401, 403, 429),
  );
}

/** Replaces the controller's rule for this handler. */
export function Access(rule: AccessRule): MethodDecorator {
  return applyDecorators(SetMetadata(ACCESS_RULE, rule), ApiExtension(SCOPES, rule.anyScope ?? []));
}

/**
 * Requires Basic authentication with `client_id:client_secret`, for the address of integrations and
 * grants.
 */
export function ApplicationAuth(): ClassDecorator {
  return applyDecorators(
    UseGuards(ApplicationGuard),
    ApiBasicAuth('application'),
    ApiBetaErrors(400, 401, 429),
  );
}

/**
 * Requires Basic authentication with the client secret as user name, for paths under
 * `/a/{client_id}`.
 */
export function ApplicationSecretAuth(): ClassDecorator {
  return applyDecorators(
    UseGuards(ApplicationSecretGuard),
    ApiBasicAuth('applicationSecret'),
    ApiErrors(400, 401, 429),
  );
}

/**
 * Marks a route that needs no credentials. A test fails for routes with neither this decorator nor
 * one of those above.
 */
export function Public(): ClassDecorator & MethodDecorator {
  return SetMetadata(PUBLIC_ROUTE, true);
}

export const CurrentAccount = createParamDecorator(
  (_: unknown, context: ExecutionContext): AccountPrincipal => {
    const principal = principalOf(context.switchToHttp().getRequest<Request>());
    if (principal?.kind !== 'account')
      throw new Error('CurrentAccount is used on a route without AccountAuth');
    return principal;
  },
);

function applicationOf(context: ExecutionContext): ApplicationPrincipal {
  const principal = principalOf(context.switchToHttp().getRequest<Request>());
  if (principal?.kind === 'application') return principal;
  throw new Error('CurrentApplication is used on a route without application credentials');
}

export const CurrentApplication = createParamDecorator((_: unknown, context: ExecutionContext) =>
  applicationOf(context),
);

/** The id of the application that sent this request. */
export const ApplicationId = createParamDecorator(
  (_: unknown, context: ExecutionContext) => applicationOf(context).applicationId,
);
