import {
  type CanActivate,
  type ExecutionContext,
  Inject,
  Injectable,
  UnauthorizedException,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { AuthGuard } from '@nestjs/passport';
import type { Request } from 'express';
import { ForbiddenError } from '../base/errors/domain-error.ts';
import { clientAddress } from '../base/client-address.ts';
import { APP_CONFIG, type AppConfig } from '../config/app-config.ts';
import { addressedRegion } from '../http/surface.ts';
import { ACCESS_RULE, type AccessRule } from './access-rule.ts';
import { FailedAttempts } from './failed-attempts.ts';
import { principalOf } from './principal.ts';
import { allows } from './scopes.ts';

/** Names of the passport strategies. */
export const STRATEGY = {
  bearer: 'access-token-bearer',
  tokenAsUser: 'access-token-basic',
  application: 'application-basic',
  applicationSecret: 'application-secret',
} as const;

/**
 * Waits for a guard of passport. Credentials that it refuses count as a failed attempt of the client.
 * @throws {TooManyFailuresError} instead of the refusal, when the client has failed too often
 */
async function guarded(
  verdict: ReturnType<CanActivate['canActivate']>,
  context: ExecutionContext,
  failures: FailedAttempts,
): Promise<boolean> {
  try {
    return (await verdict) === true;
  } catch (error) {
    const request = context.switchToHttp().getRequest<Request>();
    const isWrong =
      error instanceof UnauthorizedException && request.headers.authorization !== undefined;
    if (isWrong) await failures.wrongSecret(clientAddress(request));
    throw error;
  }
}

/** Basic `client_id:client_secret`, at the integrations address of the application's own region. */
@Injectable()
export class ApplicationGuard extends AuthGuard(STRATEGY.application) {
  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly failures: FailedAttempts,
  ) {
    super();
  }

  override async canActivate(context: ExecutionContext): Promise<boolean> {
    if (!(await guarded(super.canActivate(context), context, this.failures))) return false;
    const request = context.switchToHttp().getRequest<Request>();
    const application = principalOf(request);
    if (application?.kind !== 'application') return false;
    const { integrationsUrl } = this.config;
    const region = addressedRegion(request.headers.host, integrationsUrl);
    if (region && region !== application.region) {
      const url = integrationsUrl[application.region];
      throw new ForbiddenError(
        'application.region',
        `This application belongs to the region ${application.region}: use ${url}`,
      );
    }
    return true;
  }
}

/** Basic with the client secret as user name; it must be the secret of the application in the path. */
@Injectable()
export class ApplicationSecretGuard extends AuthGuard(STRATEGY.applicationSecret) {
  constructor(private readonly failures: FailedAttempts) {
    super();
  }

  override canActivate(context: ExecutionContext): Promise<boolean> {
    return guarded(super.canActivate(context), context, this.failures);
  }
}

/** Access token, then the rule of the handler: scopes, state of the account. */
@Injectable()
export class AccountGuard extends AuthGuard([STRATEGY.bearer, STRATEGY.tokenAsUser]) {
  constructor(
    private readonly reflector: Reflector,
    private readonly failures: FailedAttempts,
  ) {
    super();
  }

  override async canActivate(context: ExecutionContext): Promise<boolean> {
    const rule = this.reflector.getAllAndOverride<AccessRule | undefined>(ACCESS_RULE, [
      context.getHandler(),
      context.getClass(),
    ]);
    const verdict = super.canActivate(context);
    const isIn = rule?.revokes ? await guarded(verdict, context, this.failures) : await verdict;
    if (!isIn) return false;
    const account = principalOf(context.switchToHttp().getRequest<Request>());
    if (account?.kind !== 'account') return false;
    if (rule?.revokes) return true;
    if (account.billingState === 'cancelled') {
      throw new ForbiddenError('account.cancelled', 'This account has been cancelled.');
    }
    if (account.unproven) {
      throw new ForbiddenError(
        'account.address-unproven',
        `This account cannot be used before it is proven that its mailbox is that of ${account.email}.`,
      );
    }
    if (rule?.anyScope && !allows(account.scopes, rule.anyScope)) {
      throw new ForbiddenError(
        'scope.missing',
        `This needs one of the scopes ${rule.anyScope.join(', ')}, which the account has not granted.`,
      );
    }
    if (rule?.write && account.grantStatus === 'invalid') {
      throw new ForbiddenError(
        'grant.invalid',
        "This action can't be performed because the account's credentials are out of date: the user has to authenticate again.",
      );
    }
    return true;
  }
}
