import { Injectable } from '@nestjs/common';
import type { Application } from '../../applications/application.entity.ts';
import { ApplicationsService } from '../../applications/applications.service.ts';
import type { Scope } from '../../../platform/auth/scopes.ts';
import { InvalidInputError, NotFoundError } from '../../../platform/base/errors/domain-error.ts';
import { assertAllowedScopes } from '../../grants/credentials/offered-scopes.ts';
import { RedirectUriError } from '../connect.errors.ts';
import { LoginStartsService } from '../links/login-starts.service.ts';
import { type Offer, ProviderOffers } from '../sign-in/provider-offers.ts';
import { SignInProblem } from '../sign-in/sign-in-problem.ts';
import { failureAddress, type ReturnError } from '../sign-in/sign-in-return.ts';

/** The values a browser sends to `/oauth/authorize`. */
export interface AuthorizeRequest {
  /** Empty if the parameter is missing. */
  clientId: string;
  redirectUri: string;
  /** Whether to redirect failures to the application. */
  redirectOnError: boolean;
  /** Value that the application gets back; `null` if it sent none or an invalid one. */
  clientState: string | null;
  asked: AuthorizeWishes | { error: ReturnError; message: string };
}

/** The parameters, if all are valid. */
export interface AuthorizeWishes {
  responseType: 'code' | 'token';
  /** `null` or absent if the request names no scopes. */
  scope?: readonly Scope[] | null | undefined;
  loginHint: string | null;
  provider: string | null;
  /** Whether to skip the choice of a provider. */
  noChoice: boolean;
  byPassword: boolean;
}

/** A request that cannot continue although its client and redirect address are registered. */
class AuthorizeError extends Error {
  constructor(
    readonly error: ReturnError,
    message: string,
  ) {
    super(message);
  }
}

/** `GET /oauth/authorize` (RFC 6749 4.1.1, 4.2.1). */
@Injectable()
export class OauthAuthorizeService {
  constructor(
    private readonly applications: ApplicationsService,
    private readonly starts: LoginStartsService,
    private readonly offers: ProviderOffers,
  ) {}

  /**
   * Starts a sign-in.
   * @returns the URL for the browser: the sign-in page, or the application's redirect address if
   *   the request failed and asked for `redirect_on_error`
   * @throws {SignInProblem} if the client or its redirect address is not registered, or the
   *   request failed without `redirect_on_error`
   */
  async begin(request: AuthorizeRequest): Promise<string> {
    const { redirectUri, redirectOnError, clientState, asked } = request;
    const application = await this.#application(request.clientId);
    await this.#assertRegistered(application, redirectUri, null);
    try {
      if ('error' in asked) throw new AuthorizeError(asked.error, asked.message);
      assertPermitted(application, asked);
      const { responseType, scope = null, loginHint } = asked;
      const { provider, firstOffer } = this.#choice(
        asked,
        await this.offers.of(application.id, 'oauth'),
      );
      // The sign-in pages check the redirect address against the same provider later.
      await this.#assertRegistered(application, redirectUri, provider);
      return await this.starts.authorize(application, {
        provider,
        firstOffer,
        redirectUri,
        redirectOnError,
        responseType,
        clientState,
        scope,
        loginHint,
      });
    } catch (error) {
      if (!(error instanceof AuthorizeError)) throw error;
      const address = failureAddress(
        { flow: 'oauth', redirectUri, clientState },
        error.error,
        error.message,
      );
      if (redirectOnError) return address;
      throw new SignInProblem('request', error.message, { name: application.name, url: address });
    }
  }

  async #assertRegistered(
    application: Application,
    redirectUri: string,
    provider: string | null,
  ): Promise<void> {
    try {
      await this.starts.assertRegistered(application, redirectUri, provider);
    } catch (error) {
      throw error instanceof RedirectUriError ? new SignInProblem('redirect') : error;
    }
  }

  async #application(clientId: string): Promise<Application> {
    const application = await this.applications.findByClientId(clientId).catch((error: unknown) => {
      throw error instanceof NotFoundError ? new SignInProblem('client') : error;
    });
    if (application.suspendedAt) throw new SignInProblem('suspended');
    return application;
  }

  /**
   * Uses the provider that the request names. Without a name, `disable_provider_selection` means
   * any mailbox by IMAP.
   */
  #choice(
    { provider: name, noChoice, byPassword }: AuthorizeWishes,
    offers: readonly Offer[],
  ): { provider: string | null; firstOffer: string | null } {
    if (name === null && !noChoice) return { provider: null, firstOffer: null };
    const provider = this.offers.providerNamed(name, offers);
    if (provider === undefined) {
      throw new AuthorizeError(
        'invalid_request',
        name === null
          ? 'provider: this application offers no mailbox of any provider: name one of those it offers'
          : `provider: "${name}" cannot be used by this application`,
      );
    }
    const first = byPassword
      ? offers.find((offer) => offer.provider === provider && !offer.oauth)
      : undefined;
    return { provider, firstOffer: first?.id ?? null };
  }
}

/**
 * Checks that the application allows the response type and the scopes.
 * @throws {AuthorizeError}
 */
function assertPermitted(
  { allowsTokenResponse, allowedScopes }: Application,
  { responseType, scope }: AuthorizeWishes,
): void {
  if (responseType === 'token' && !allowsTokenResponse) {
    throw new AuthorizeError(
      'unsupported_response_type',
      'response_type: token is not allowed for this application: use code, or allow it with allow_response_type_token',
    );
  }
  try {
    assertAllowedScopes(allowedScopes, scope);
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    throw new AuthorizeError('invalid_scope', error.message);
  }
}
