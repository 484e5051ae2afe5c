import { Injectable } from '@nestjs/common';
import type { Application } from '../applications/application.entity.ts';
import { ApplicationsService } from '../applications/applications.service.ts';
import type { Scope } from '../../platform/auth/scopes.ts';
import { InvalidInputError, NotFoundError } from '../../platform/base/errors/domain-error.ts';
import { assertAllowedScopes } from '../grants/offered-scopes.ts';
import { RedirectUriError } from './connect.errors.ts';
import { LoginStarts } from './login-starts.service.ts';
import { type Offer, providerNamed, ProviderOffers } from './provider-offers.ts';
import { SignInProblem } from './sign-in-problem.ts';
import { failureAddress, type ReturnError } from './sign-in-return.ts';

/** What a browser asks for at `/oauth/authorize`. */
export interface AuthorizeRequest {
  /** Empty: there is none. */
  clientId: string;
  redirectUri: string;
  /** Whether the application hears of failures. */
  redirectOnError: boolean;
  /** What the application gets back; null: there is none that can be handed back. */
  clientState: string | null;
  asked: AuthorizeWishes | { error: ReturnError; message: string };
}

/** The parameters, where all are well formed. */
export interface AuthorizeWishes {
  responseType: 'code' | 'token';
  /** Null or absent: none of its own. */
  scope?: readonly Scope[] | null | undefined;
  loginHint: string | null;
  provider: string | null;
  /** No choice of a provider is shown. */
  noChoice: boolean;
  byPassword: boolean;
}

/** A request that cannot be gone on with, although it is known whose it is. */
class AuthorizeError extends Error {
  constructor(
    readonly error: ReturnError,
    message: string,
  ) {
    super(message);
  }
}

/** `GET /oauth/authorize` (api facts 3.1; RFC 6749 4.1.1, 4.2.1). */
@Injectable()
export class OauthAuthorize {
  constructor(
    private readonly applications: ApplicationsService,
    private readonly starts: LoginStarts,
    private readonly offers: ProviderOffers,
  ) {}

  /**
   * @returns where the browser goes: to the sign-in, or, where the application wants to hear of failures, back to it
   * @throws {SignInProblem} for all others; always before the redirect address is known to be registered
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
      // The pages look at the address the same way.
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
    try {
      return await this.applications.findByClientId(clientId);
    } catch (error) {
      throw error instanceof NotFoundError ? new SignInProblem('client') : error;
    }
  }

  /** A provider that is named is gone to; without one, `disable_provider_selection` means any mailbox. */
  #choice(
    { provider: name, noChoice, byPassword }: AuthorizeWishes,
    offers: readonly Offer[],
  ): { provider: string | null; firstOffer: string | null } {
    const wanted = name ?? (noChoice ? 'imap' : null);
    if (wanted === null) return { provider: null, firstOffer: null };
    const provider = providerNamed(wanted, offers);
    if (provider === undefined) {
      throw new AuthorizeError(
        'invalid_request',
        `provider: "${wanted}" cannot be used by this application`,
      );
    }
    const first = byPassword
      ? offers.find((offer) => offer.provider === provider && !offer.oauth)
      : undefined;
    return { provider, firstOffer: first?.id ?? null };
  }
}

/** What an application has not allowed its sign-ins. @throws {AuthorizeError} */
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
