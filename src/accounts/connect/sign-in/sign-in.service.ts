import { Injectable } from '@nestjs/common';
import { EntityManager } from '@mikro-orm/postgresql';
import { restrict, type Scope } from '../../../platform/auth/scopes.ts';
import { SecretBox } from '../../../platform/base/crypto/secret-box.ts';
import { DomainError, ForbiddenError } from '../../../platform/base/errors/domain-error.ts';
import { toUnixSeconds } from '../../../platform/base/time/unix-seconds.ts';
import type { VerifiedCredentials } from '../../grants/credentials/credentials.ts';
import {
  type ConnectOptions,
  GrantConnectionsService,
} from '../../grants/moves/grant-connections.service.ts';
import { findByMailbox, mailboxOf } from '../../grants/moves/mailbox-match.ts';
import { grantableScopes, missingScopes } from '../../grants/credentials/offered-scopes.ts';
import { Integration } from '../../integrations/integration.entity.ts';
import { ConnectorRegistry } from '../../../providers/port/connector-registry.ts';
import { AuthorizationCodes } from '../oauth/authorization-codes.ts';
import { LoginRequests } from '../links/login-requests.ts';
import {
  cancelPage,
  choosePage,
  consentPage,
  credentialsPage,
  oauthPage,
} from '../pages/sign-in.pages.ts';
import { offered } from '../pages/offers.ts';
import { TEXTS } from '../pages/texts.ts';
import { firstCredentials } from './sign-in-credentials.ts';
import { SignInProblem } from './sign-in-problem.ts';
import { failureAddress, successAddress, tokenAddress } from './sign-in-return.ts';
import { type Step, type Visit, linkBack } from './sign-in-visits.ts';

/** User agent and IP address of the browser, stored with the grant. */
export interface Browser {
  userAgent: string | undefined;
  ip: string | undefined;
}

/** The values of a consent form: the account and scopes that its page has shown. */
export interface Agreement {
  account: string;
  scopes: readonly Scope[] | null;
}

/**
 * The application allowed the response type `token` when this sign-in started, and no longer does.
 */
class TokenResponseError extends ForbiddenError {
  constructor() {
    super(
      'sign-in.token-response',
      'response_type: token is no longer allowed for this application',
    );
  }
}

/** The pages of a sign-in and their results. */
@Injectable()
export class SignInService {
  constructor(
    private readonly em: EntityManager,
    private readonly requests: LoginRequests,
    private readonly connections: GrantConnectionsService,
    private readonly codes: AuthorizationCodes,
    private readonly connectors: ConnectorRegistry,
    private readonly secretBox: SecretBox,
  ) {}

  /**
   * The page that a link opens: consent if this browser has already signed in, else the page of the
   * chosen or only provider, else the choice of providers.
   * @param chosen id of an offer
   * @param again whether the user wants to use another account
   */
  async view(visit: Visit, chosen: string | undefined, again: boolean): Promise<Step> {
    const { request, requestingApplication, key, offers, browser } = visit;
    const named = offers.find(({ id }) => id === chosen);
    // Choosing a provider starts a new sign-in there, even after an earlier sign-in.
    const verified = again || named ? undefined : this.requests.authenticatedIn(request, browser);
    if (verified) {
      const scopes = await this.#asked(visit, verified);
      const missing = {
        at: this.connectors.require(verified.provider).signIn?.title ?? verified.provider,
        scopes: await this.#missing(visit, verified),
      };
      return { page: consentPage(requestingApplication, key, verified, scopes, missing) };
    }
    const [only] = offers;
    const offer = named ?? (offers.length === 1 ? only : undefined);
    if (!offer) return { page: choosePage(requestingApplication, key, offers.map(offered)) };
    if (offer.oauth) return { page: oauthPage(requestingApplication, key, offered(offer), {}) };
    const given = this.requests.settingsOf(request);
    return {
      page: credentialsPage(requestingApplication, key, firstCredentials(visit, offer, given)),
    };
  }

  /** Asks the user to confirm leaving. */
  confirmCancel({ requestingApplication, key }: Visit): Step {
    return { page: cancelPage(requestingApplication, key) };
  }

  /**
   * Ends the sign-in for a user who leaves. The application always gets this error, even without
   * `redirect_on_error`, so that the user does not stay on our page.
   */
  async cancel({ request, browser }: Visit, description: string): Promise<Step> {
    const redirect = failureAddress(request, 'access_denied', description);
    if (!(await this.requests.end(request.id, 'cancelled', description, browser, redirect)))
      throw new SignInProblem('used');
    return { redirect };
  }

  /**
   * Handles the user's consent: connects the account, or issues a code for it.
   * @throws {SignInProblem} if the request has been used in the meantime
   */
  async consent(visit: Visit, agreement: Agreement, browser: Browser): Promise<Step> {
    const { request } = visit;
    const verified = this.requests.authenticatedIn(request, visit.browser);
    const shown = verified && (await this.#asked(visit, verified));
    // The account or scopes have changed since the page was shown, so show them again.
    if (
      !verified ||
      agreement.account !== verified.email ||
      !sameScopes(agreement.scopes, shown ?? null)
    ) {
      return this.view(visit, undefined, false);
    }
    try {
      return await this.#finish(visit, verified, agreement.scopes, browser);
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      return this.#failed(visit, error);
    }
  }

  async #finish(
    visit: Visit,
    verified: VerifiedCredentials,
    agreed: readonly Scope[] | null,
    browser: Browser,
  ): Promise<Step> {
    const { request, application } = visit;
    if (request.responseType === 'token' && !application.allowsTokenResponse)
      throw new TokenResponseError();
    const options = { ...optionsOf(visit, browser), agreed };
    const missing = (await this.#missing(visit, verified)).join(',');
    const connect = async (em: EntityManager): Promise<string> => {
      if (request.flow === 'oauth' && request.responseType === 'code') {
        const waiting = { credentials: verified, ...options };
        return successAddress(request, {
          code: await this.codes.issue(em, application.id, waiting),
        });
      }
      const { grant, accessToken, expiresAt } = await this.connections.connectWithin(
        em,
        application.id,
        verified,
        options,
      );
      const { id, provider, email } = grant;
      if (request.flow === 'oauth') {
        return tokenAddress(request, {
          access_token: accessToken,
          token_type: 'bearer',
          account_id: id,
          email_address: email,
          provider: this.connectors.shownAs(provider),
          expires_at: expiresAt && String(toUnixSeconds(expiresAt)),
        });
      }
      const waiting = { grantId: id, accessToken, expiresAt: expiresAt?.toISOString() ?? null };
      const code = await this.codes.issue(em, application.id, waiting);
      return successAddress(request, {
        grant_id: id,
        provider,
        email,
        code,
        missing_scope: missing || null,
      });
    };
    const redirect = await this.em.transactional((em) =>
      this.requests.finish(em, request.id, visit.browser, () => connect(em)),
    );
    if (redirect === undefined) throw new SignInProblem('used');
    return { redirect };
  }

  async #failed(visit: Visit, error: DomainError): Promise<Step> {
    const { request } = visit;
    const reason = error.kind === 'unavailable' ? 'temporarily_unavailable' : 'unauthorized_client';
    const address = failureAddress(request, reason, error.message);
    const redirect = request.redirectOnError ? address : null;
    if (!(await this.requests.end(request.id, 'failed', error.message, visit.browser, redirect)))
      throw new SignInProblem('used');
    if (redirect !== null) return { redirect };
    throw new SignInProblem('refused', error.message, linkBack(visit, reason, error.message));
  }

  /**
   * The scopes that the grant will get: those of the request, else of the grant, else of the
   * integration. A scope is left out if the application does not let a sign-in grant it, or if the
   * user has not allowed it at the provider. `null` for all scopes.
   */
  async #asked(
    { request, application }: Visit,
    verified: VerifiedCredentials,
  ): Promise<Scope[] | null> {
    return restrict(
      await this.#wanted({ request, application }, verified),
      verified.covered ?? null,
    );
  }

  /** The same, without the limit of what the user has allowed at the provider. */
  async #wanted(
    { request, application }: Pick<Visit, 'request' | 'application'>,
    verified: VerifiedCredentials,
  ): Promise<Scope[] | null> {
    const { allowedScopes } = application;
    if (request.scope) return grantableScopes(allowedScopes, request.scope);
    const em = this.em.fork();
    const { provider, email } = verified;
    const connector = this.connectors.require(provider);
    const mailbox = mailboxOf(connector, verified);
    const wanted = { applicationId: application.id, connector, email, mailbox };
    const grant = await findByMailbox(em, this.secretBox, wanted);
    if (grant?.scope) return grantableScopes(allowedScopes, grant.scope);
    const integration = await em.findOne(Integration, { application: application.id, provider });
    return grantableScopes(allowedScopes, integration?.scope);
  }

  /** The scopes that the user has not allowed at the provider. */
  async #missing(visit: Visit, verified: VerifiedCredentials): Promise<Scope[]> {
    const connector = this.connectors.require(verified.provider);
    return missingScopes(connector, await this.#wanted(visit, verified), verified.covered);
  }
}

/** Error descriptions that the application gets when the user leaves. */
export const RETURNED = TEXTS.returned;

function optionsOf({ request }: Visit, { userAgent, ip }: Browser): ConnectOptions {
  return {
    integrationRequired: request.flow === 'connect',
    ...(request.scope ? { scope: request.scope as Scope[] } : {}),
    ...(request.metadata ? { metadata: request.metadata } : {}),
    ...(request.flow === 'connect' && request.clientState ? { state: request.clientState } : {}),
    ...(request.grantId ? { reauthAccountId: request.grantId } : {}),
    userAgent,
    ip,
  };
}

const sameScopes = (a: readonly Scope[] | null, b: readonly Scope[] | null): boolean =>
  JSON.stringify(a && a.toSorted()) === JSON.stringify(b && b.toSorted());
