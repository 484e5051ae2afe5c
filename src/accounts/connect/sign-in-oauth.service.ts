import { Inject, Injectable } from '@nestjs/common';
import { EntityManager } from '@mikro-orm/postgresql';
import { DomainError } from '../../platform/base/errors/domain-error.ts';
import { randomBase36 } from '../../platform/base/ids/ids.ts';
import { APP_CONFIG, type AppConfig, type Region } from '../../platform/config/app-config.ts';
import { CredentialCheck } from '../grants/credential-check.ts';
import { Grant } from '../grants/grant.entity.ts';
import { OauthIntegrations, type OauthSettings } from '../integrations/oauth-integrations.ts';
import { type SignedIn, OauthClients } from '../oauth/oauth-clients.ts';
import { OauthError } from '../oauth/oauth-error.ts';
import { browserHash } from './browser-secret.ts';
import { type AtProvider, LoginRequests } from './login-requests.ts';
import { stepPath } from './pages/form.ts';
import { offered } from './pages/offers.ts';
import { oauthPage } from './pages/sign-in.pages.ts';
import { TEXTS } from './pages/texts.ts';
import { errorsOf } from './sign-in-credentials.ts';
import { SignInProblem } from './sign-in-problem.ts';
import { SignInVisits, type Step, type Visit } from './sign-in-visits.ts';

const STATE_LENGTH = 40;

/**
 * Sends users to an OAuth provider and back (RFC 6749 4.1). The state is bound to the login request
 * and to the browser.
 */
@Injectable()
export class SignInOauth {
  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly em: EntityManager,
    private readonly requests: LoginRequests,
    private readonly visits: SignInVisits,
    private readonly integrations: OauthIntegrations,
    private readonly clients: OauthClients,
    private readonly check: CredentialCheck,
  ) {}

  /** Sends the browser to a provider. */
  async leave(visit: Visit, offerId: unknown): Promise<Step> {
    const { request, application, key, browser } = visit;
    const offer = visit.offers.find(({ id, oauth }) => oauth && id === offerId);
    const oauth = offer && (await this.integrations.find(application.id, offer.provider));
    if (!offer || !oauth) return { redirect: stepPath('', key.link) };
    const state = randomBase36(STATE_LENGTH);
    try {
      const { url, pkceVerifier, nonce } = await this.clients.authorizationUrl(oauth.registration, {
        redirectUri: this.#callback(visit),
        state,
        loginHint: request.loginHint ?? null,
      });
      const pending = { provider: offer.provider, link: key.link, pkceVerifier, nonce };
      if (!(await this.requests.leave(request.id, browser, state, pending)))
        throw new SignInProblem('used');
      return { redirect: url };
    } catch (error) {
      if (!(error instanceof OauthError)) throw error;
      return this.#again(visit, { '': TEXTS.errors.oauthUnavailable });
    }
  }

  /**
   * Handles the browser's return from the provider, with a code or an error.
   * @param secret the browser's secret; `undefined` if it has none
   * @throws {SignInProblem} `elsewhere` if this browser did not leave with this state, or has
   *   already returned with it
   */
  async comeBack(parameters: URLSearchParams, secret: string | undefined): Promise<Step> {
    const state = parameters.get('state') ?? '';
    const back =
      secret === undefined ? undefined : await this.requests.comeBack(state, browserHash(secret));
    if (!back || secret === undefined) throw new SignInProblem('elsewhere');
    const visit = await this.visits.open(back.pending.link, secret);
    try {
      return await this.#signIn(visit, back.pending, parameters, state);
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      return this.#again(visit, this.#explained(error));
    }
  }

  async #signIn(
    visit: Visit,
    { provider, pkceVerifier, nonce }: AtProvider,
    parameters: URLSearchParams,
    state: string,
  ): Promise<Step> {
    const { request, application, browser, key } = visit;
    const oauth = await this.integrations.find(application.id, provider);
    if (!oauth) throw new SignInProblem('request', TEXTS.errors.provider);
    const signedIn = await this.clients.exchange(oauth.registration, {
      parameters,
      redirectUri: this.#callback(visit),
      state,
      pkceVerifier,
      nonce,
    });
    const email = await this.#emailOf(visit, oauth, signedIn);
    if (typeof email !== 'string') return this.#again(visit, email);
    const { tokens, name } = signedIn;
    const credentials = {
      provider, email, name: name ?? '', settings: {}, tokens, claimedEmail: signedIn.email,
    }; // prettier-ignore
    const verified = await this.check.verify(application.id, credentials);
    if (!(await this.requests.authenticate(request.id, browser, verified)))
      throw new SignInProblem('used');
    return { redirect: stepPath('', key.link) };
  }

  /**
   * The address of the mailbox: from the provider, else the application's `login_hint`.
   * @returns the address, or errors for the form
   */
  async #emailOf(
    { request, application }: Visit,
    oauth: OauthSettings,
    { email, tokens }: SignedIn,
  ): Promise<string | Record<string, string>> {
    if (!request.grantId) return email ?? request.loginHint ?? { '': TEXTS.errors.oauthNobody };
    const grant = await this.em
      .fork()
      .findOne(Grant, { id: request.grantId, application: application.id }, { fields: ['email'] });
    if (!grant) throw new SignInProblem('used');
    if (email === null || email === grant.email) return grant.email;
    // These tokens are not stored, so revoke them. A failure does not matter here.
    await this.clients.revoke(oauth.registration, tokens).catch((error: unknown) => {
      if (!(error instanceof OauthError)) throw error;
    });
    return { '': TEXTS.errors.otherAccount(grant.email) };
  }

  #explained(error: DomainError): Record<string, string> {
    if (!(error instanceof OauthError))
      return { '': Object.values(errorsOf(error, null)).join(' ') };
    const { oauthDenied, oauthFailed, oauthUnavailable } = TEXTS.errors;
    if (error.failure === 'denied') return { '': oauthDenied };
    return { '': error.failure === 'unavailable' ? oauthUnavailable : oauthFailed };
  }

  #again(visit: Visit, errors: Record<string, string>): Step {
    const offer = visit.offers.find(({ oauth }) => oauth);
    if (!offer) return { redirect: stepPath('', visit.key.link) };
    return { page: oauthPage(visit.requestingApplication, visit.key, offered(offer), errors) };
  }

  /** Redirect address that is registered at the provider. */
  #callback({ application }: Visit): string {
    return `${this.config.integrationsUrl[application.region as Region]}/connect/callback`;
  }
}
