import { Inject, Injectable } from '@nestjs/common';
import { EntityManager } from '@mikro-orm/postgresql';
import { DomainError } from '../../platform/base/errors/domain-error.ts';
import { randomBase36 } from '../../platform/base/ids/ids.ts';
import { APP_CONFIG, type AppConfig, type Region } from '../../platform/config/app-config.ts';
import { CredentialCheck } from '../grants/credential-check.ts';
import { Grant } from '../grants/grant.entity.ts';
import { OauthIntegrations, type OauthWay } from '../integrations/oauth-integrations.ts';
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

/** To the provider and back (RFC 6749 4.1). The state is bound to the login request and to the browser. */
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
    const way = offer && (await this.integrations.find(application.id, offer.provider));
    if (!offer || !way) return { redirect: stepPath('', key.link) };
    const state = randomBase36(STATE_LENGTH);
    try {
      const { url, pkceVerifier, nonce } = await this.clients.authorizationUrl(way.registration, {
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
   * The browser is back, with a code or with a refusal.
   * @param secret the browser's; undefined: it has none
   * @throws {SignInProblem} `elsewhere` unless this browser has left with this state, and not come back yet
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
    const way = await this.integrations.find(application.id, provider);
    if (!way) throw new SignInProblem('request', TEXTS.errors.provider);
    const signedIn = await this.clients.exchange(way.registration, {
      parameters,
      redirectUri: this.#callback(visit),
      state,
      pkceVerifier,
      nonce,
    });
    const email = await this.#emailOf(visit, way, signedIn);
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

  /** Whose mailbox it is: what the provider says, else what the application has said. @returns or what is wrong */
  async #emailOf(
    { request, application }: Visit,
    way: OauthWay,
    { email, tokens }: SignedIn,
  ): Promise<string | Record<string, string>> {
    if (!request.grantId) return email ?? request.loginHint ?? { '': TEXTS.errors.oauthNobody };
    const grant = await this.em
      .fork()
      .findOne(Grant, { id: request.grantId, application: application.id }, { fields: ['email'] });
    if (!grant) throw new SignInProblem('used');
    if (email === null || email === grant.email) return grant.email;
    // Nobody keeps them.
    await this.clients.revoke(way.registration, tokens).catch((error: unknown) => {
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
    return { page: oauthPage(visit.asking, visit.key, offered(offer), errors) };
  }

  /** Registered at the provider (spec 5). */
  #callback({ application }: Visit): string {
    return `${this.config.integrationsUrl[application.region as Region]}/connect/callback`;
  }
}
