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
import { hashToken } from '../base/crypto/token-hash.ts';
import { reportIncident } from '../logs/incidents.ts';
import { RateLimits } from '../http/rate-limits.ts';
import type { BodySender } from '../http/bodies/body-budget.ts';
import { RequestBodies } from '../http/bodies/request-bodies.ts';
import { addressedRegion } from '../http/listeners/surface.ts';
import { refusals } from '../refusals/refusals.ts';
import { ACCESS_RULE, type AccessRule, assertAllowed, PUBLIC_ROUTE } from './access-rule.ts';
import { FailedAttempts } from './failed-attempts.ts';
import { basicCredentials, presentedToken } from './presented-token.ts';
import type { AccountPrincipal, ApplicationPrincipal, Principal } from './principal.ts';
import { STRATEGY } from './strategies/strategy-names.ts';

/** Longer texts are no tokens. */
const LONGEST_TOKEN = 200;

const requestOf = (context: ExecutionContext): Request =>
  context.switchToHttp().getRequest<Request>();

/**
 * Waits for the verdict of passport, which keeps the caller with the request, and counts the
 * request for its limits.
 * @param onWrong called before credentials are refused that belong to nobody; not if there are none
 * @throws {UnauthorizedException} if no strategy knows the caller
 * @throws {RateLimitedError}
 */
async function authenticate<P extends Principal>(
  context: ExecutionContext,
  limits: RateLimits,
  verdict: ReturnType<CanActivate['canActivate']>,
  onWrong: () => Promise<void> | void,
): Promise<P> {
  const request = requestOf(context);
  try {
    await verdict;
  } catch (error) {
    const isWrong = error instanceof UnauthorizedException && request.headers.authorization;
    if (isWrong) await onWrong();
    throw error;
  }
  const principal = request.user as P;
  await limits.count(context, principal);
  return principal;
}

/**
 * Requires Basic `client_id:client_secret`, at the integrations address of the application's own
 * region. Wrong ones count as a failed attempt of the client.
 */
@Injectable()
export class ApplicationGuard extends AuthGuard(STRATEGY.applicationBasic) {
  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly failures: FailedAttempts,
    private readonly limits: RateLimits,
    private readonly bodies: RequestBodies,
  ) {
    super();
  }

  /** @throws {TooManyFailuresError} if the client has failed too often */
  override async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = requestOf(context);
    const application = await authenticate<ApplicationPrincipal>(
      context,
      this.limits,
      super.canActivate(context),
      () =>
        this.failures.countWrongSecret(clientAddress(request), {
          clientId: basicCredentials(request)?.userName,
        }),
    );
    const { integrationsUrl } = this.config;
    const region = addressedRegion(request.headers.host, integrationsUrl);
    if (region && region !== application.region) {
      const url = integrationsUrl[application.region];
      throw new ForbiddenError(
        'application.region',
        `This application belongs to the region ${application.region}: use ${url}`,
      );
    }
    await this.bodies.read(context, senderOf(application));
    return true;
  }
}

const senderOf = ({ applicationId }: ApplicationPrincipal): BodySender => ({
  caller: applicationId,
  application: applicationId,
});

/**
 * Requires Basic authentication with the client secret as user name. The secret must belong to the
 * application in the path. A wrong one counts as a failed attempt of the client.
 */
@Injectable()
export class ApplicationSecretGuard extends AuthGuard(STRATEGY.applicationSecret) {
  constructor(
    private readonly failures: FailedAttempts,
    private readonly limits: RateLimits,
    private readonly bodies: RequestBodies,
  ) {
    super();
  }

  /** @throws {TooManyFailuresError} if the client has failed too often */
  override async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = requestOf(context);
    const { client_id: clientId } = request.params;
    const application = await authenticate<ApplicationPrincipal>(
      context,
      this.limits,
      super.canActivate(context),
      () =>
        this.failures.countWrongSecret(
          clientAddress(request),
          typeof clientId === 'string' ? { clientId } : {},
        ),
    );
    await this.bodies.read(context, senderOf(application));
    return true;
  }
}

/** Requires an access token, then applies the handler's rule: scopes and state of the account. */
@Injectable()
export class AccountGuard extends AuthGuard([
  STRATEGY.accessTokenBearer,
  STRATEGY.accessTokenBasic,
]) {
  constructor(
    private readonly reflector: Reflector,
    private readonly failures: FailedAttempts,
    private readonly limits: RateLimits,
    private readonly bodies: RequestBodies,
  ) {
    super();
  }

  /** @throws {TooManyFailuresError} if the client has failed too often to revoke a token */
  override async canActivate(context: ExecutionContext): Promise<boolean> {
    const rule = this.reflector.getAllAndOverride<AccessRule | undefined>(ACCESS_RULE, [
      context.getHandler(),
      context.getClass(),
    ]);
    const request = requestOf(context);
    const verdict = super.canActivate(context);
    const account = await authenticate<AccountPrincipal>(context, this.limits, verdict, () => {
      const client = clientAddress(request);
      const token = presentedToken(request);
      const named = token && token.length <= LONGEST_TOKEN ? { tokenHash: hashToken(token) } : {};
      if (rule?.revokes) return this.failures.countWrongSecret(client, named);
      reportIncident('login.refused', { client, of: 'access token' });
      refusals.login('access-token', { client, ...named });
    });
    if (!rule?.revokes) assertAllowed(account, rule);
    await this.bodies.read(context, {
      caller: account.accountId,
      application: account.applicationId,
    });
    return true;
  }
}

/**
 * Reads the bodies of requests to routes without credentials and counts the requests. The other
 * guards do so for their callers.
 */
@Injectable()
export class PublicRouteGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly limits: RateLimits,
    private readonly bodies: RequestBodies,
  ) {}

  /** @throws {DomainError} 400 or 413 because of the body, 429 because of a limit */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const targets = [context.getHandler(), context.getClass()];
    const isPublic = this.reflector.getAllAndOverride<boolean | undefined>(PUBLIC_ROUTE, targets);
    if (!isPublic) return true;
    await this.bodies.readPublic(context);
    await this.limits.countPublic(context);
    return true;
  }
}
