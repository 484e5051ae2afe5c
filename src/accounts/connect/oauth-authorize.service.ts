import { Injectable } from '@nestjs/common';
import type { Application } from '../applications/application.entity.ts';
import { ApplicationsService } from '../applications/applications.service.ts';
import { InvalidInputError, NotFoundError } from '../../platform/base/errors/domain-error.ts';
import { assertAllowedScopes } from '../grants/offered-scopes.ts';
import { RedirectUriError } from './connect.errors.ts';
import { type AuthorizeQuery, authorizeQuerySchema } from './hosted-sign-in.schema.ts';
import { LoginStarts } from './login-starts.service.ts';
import { type Offer, providerNamed, ProviderOffers } from './provider-offers.ts';
import { SignInProblem } from './sign-in-problem.ts';
import { failureAddress, type ReturnError } from './sign-in-return.ts';

/** A request that cannot be gone on with, although it is known whose it is. */
class AuthorizeError extends Error {
  constructor(
    readonly error: ReturnError,
    message: string,
  ) {
    super(message);
  }
}

const FIELD_ERRORS: Readonly<Record<string, ReturnError>> = {
  response_type: 'unsupported_response_type',
  scopes: 'invalid_scope',
};

/** `GET /oauth/authorize` (api facts 3.1; RFC 6749 4.1.1, 4.2.1). */
@Injectable()
export class OauthAuthorize {
  constructor(
    private readonly applications: ApplicationsService,
    private readonly starts: LoginStarts,
    private readonly offers: ProviderOffers,
  ) {}

  /**
   * @param query as the browser sent it
   * @returns where the browser goes: to the sign-in, or, where the application wants to hear of failures, back to it
   * @throws {SignInProblem} for all others; always before the redirect address is known to be registered
   */
  async begin(query: Readonly<Record<string, unknown>>): Promise<string> {
    const clientId = single(query, 'client_id');
    const redirectUri = single(query, 'redirect_uri');
    const application = await this.#application(clientId);
    await this.#assertRegistered(application, redirectUri, null);
    const redirectOnError = single(query, 'redirect_on_error').toLowerCase() === 'true';
    try {
      const asked = read(query);
      assertPermitted(application, asked);
      const { provider, firstOffer } = this.#choice(asked, await this.offers.of(application.id, 'oauth'));
      // The pages look at the address the same way.
      await this.#assertRegistered(application, redirectUri, provider);
      return await this.starts.authorize(application, {
        provider,
        firstOffer,
        redirectUri,
        redirectOnError,
        responseType: asked.response_type,
        clientState: asked.state ?? null,
        scope: asked.scopes ?? null,
        loginHint: asked.login_hint || null,
      });
    } catch (error) {
      if (!(error instanceof AuthorizeError)) throw error;
      const clientState = wellFormedState(query);
      const address = failureAddress({ flow: 'oauth', redirectUri, clientState }, error.error, error.message);
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
    { provider: name, disable_provider_selection: noChoice, force_password: byPassword }: AuthorizeQuery,
    offers: readonly Offer[],
  ): { provider: string | null; firstOffer: string | null } {
    const wanted = name || (noChoice ? 'imap' : null);
    if (wanted === null) return { provider: null, firstOffer: null };
    const provider = providerNamed(wanted, offers);
    if (provider === undefined) {
      throw new AuthorizeError('invalid_request', `provider: "${wanted}" cannot be used by this application`);
    }
    const first = byPassword
      ? offers.find((offer) => offer.provider === provider && !offer.oauth)
      : undefined;
    return { provider, firstOffer: first?.id ?? null };
  }
}

/** Parameters must not be repeated (RFC 6749 3.1). */
function single(query: Readonly<Record<string, unknown>>, name: string): string {
  const value = query[name];
  return typeof value === 'string' ? value : '';
}

function wellFormedState(query: Readonly<Record<string, unknown>>): string | null {
  const state = authorizeQuerySchema.shape.state.safeParse(query['state']);
  return state.data ?? null;
}

/** What an application has not allowed its sign-ins. @throws {AuthorizeError} */
function assertPermitted(
  { allowsTokenResponse, allowedScopes }: Application,
  { response_type, scopes }: AuthorizeQuery,
): void {
  if (response_type === 'token' && !allowsTokenResponse) {
    throw new AuthorizeError(
      'unsupported_response_type',
      'response_type: token is not allowed for this application: use code, or allow it with allow_response_type_token',
    );
  }
  try {
    assertAllowedScopes(allowedScopes, scopes);
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    throw new AuthorizeError('invalid_scope', error.message);
  }
}

/** @throws {AuthorizeError} */
function read(query: Readonly<Record<string, unknown>>): AuthorizeQuery {
  const parsed = authorizeQuerySchema.safeParse(query);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = String(issue?.path[0] ?? '');
  throw new AuthorizeError(FIELD_ERRORS[field] ?? 'invalid_request', `${field}: ${issue?.message ?? ''}`);
}
