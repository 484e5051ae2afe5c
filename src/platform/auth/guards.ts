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
import { reportIncident } from '../logs/incidents.ts';
import { hashToken } from '../base/crypto/token-hash.ts';
import { addressedRegion } from '../http/surface.ts';
import { refusals, type Sender } from '../refusals/refusals.ts';
import { ACCESS_RULE, type AccessRule } from './access-rule.ts';
import { FailedAttempts } from './failed-attempts.ts';
import { basicUserName, bearerToken } from './presented-token.ts';
import { principalOf } from './principal.ts';
import { allows } from './scopes.ts';

/** Names of the passport strategies. */
export const STRATEGY = {
  bearer: 'access-token-bearer',
  tokenAsUser: 'access-token-basic',
  application: 'application-basic',
  applicationSecret: 'application-secret',
} as const;

/** Longer texts are no tokens. */
const LONGEST_TOKEN = 200;

/** The hash of the token that a request has presented. */
function presentedToken(request: Request): Pick<Sender, 'tokenHash'> {
  const token = bearerToken(request) ?? basicUserName(request);
  return token && token.length <= LONGEST_TOKEN ? { tokenHash: hashToken(token) } : {};
}

/**
 * Waits for the verdict of a passport guard. Refused credentials count as a failed attempt of the
 * client.
 * @throws {TooManyFailuresError} instead of the refusal, if the client has failed too often
 */
async function countingFailures(
  verdict: ReturnType<CanActivate['canActivate']>,
  context: ExecutionContext,
  failures: FailedAttempts,
  namedIn: (request: Request) => Pick<Sender, 'clientId' | 'tokenHash'>,
): Promise<boolean> {
  try {
    return (await verdict) === true;
  } catch (error) {
    const request = context.switchToHttp().getRequest<Request>();
    if (isWrong(error, request))
      await failures.countWrongSecret(clientAddress(request), namedIn(request));
    throw error;
  }
}

/** Waits for the verdict of a passport guard, and reports a wrong token in the log. */
async function reportingRefusal(
  verdict: ReturnType<CanActivate['canActivate']>,
  context: ExecutionContext,
): Promise<boolean> {
  try {
    return (await verdict) === true;
  } catch (error) {
    const request = context.switchToHttp().getRequest<Request>();
    if (isWrong(error, request)) {
      const client = clientAddress(request);
      reportIncident('login.refused', { client, of: 'access token' });
      refusals.login('access-token', { client, ...presentedToken(request) });
    }
    throw error;
  }
}

const isWrong = (error: unknown, request: Request): boolean =>
  error instanceof UnauthorizedException && request.headers.authorization !== undefined;

/**
 * Requires Basic `client_id:client_secret`, at the integrations address of the application's own
 * region.
 */
@Injectable()
export class ApplicationGuard extends AuthGuard(STRATEGY.application) {
  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly failures: FailedAttempts,
  ) {
    super();
  }

  override async canActivate(context: ExecutionContext): Promise<boolean> {
    const verdict = super.canActivate(context);
    const namedIn = (request: Request) => ({ clientId: basicUserName(request) });
    if (!(await countingFailures(verdict, context, this.failures, namedIn))) return false;
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

/**
 * Requires Basic authentication with the client secret as user name. The secret must belong to the
 * application in the path.
 */
@Injectable()
export class ApplicationSecretGuard extends AuthGuard(STRATEGY.applicationSecret) {
  constructor(private readonly failures: FailedAttempts) {
    super();
  }

  override canActivate(context: ExecutionContext): Promise<boolean> {
    return countingFailures(super.canActivate(context), context, this.failures, ({ params }) => {
      const { client_id: clientId } = params;
      return typeof clientId === 'string' ? { clientId } : {};
    });
  }
}

/** Requires an access token, then applies the handler's rule: scopes and state of the account. */
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
    const isAuthenticated = rule?.revokes
      ? await countingFailures(verdict, context, this.failures, presentedToken)
      : await reportingRefusal(verdict, context);
    if (!isAuthenticated) return false;
    const account = principalOf(context.switchToHttp().getRequest<Request>());
    if (account?.kind !== 'account') return false;
    if (rule?.revokes) return true;
    if (account.billingState === 'cancelled') {
      throw new ForbiddenError('account.cancelled', 'This account has been cancelled.');
    }
    if (account.unproven) {
      throw new ForbiddenError(
        'account.address-unproven',
        `This account cannot be used until it is proven that its mailbox belongs to ${account.email}.`,
      );
    }
    if (rule?.anyScope && !allows(account.scopes, rule.anyScope)) {
      throw new ForbiddenError(
        'scope.missing',
        `This request needs one of the scopes ${rule.anyScope.join(', ')}, which the account has not granted.`,
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
