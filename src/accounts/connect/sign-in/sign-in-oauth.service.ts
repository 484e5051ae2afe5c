import { Inject, Injectable } from '@nestjs/common';
import { EntityManager } from '@mikro-orm/postgresql';
import { restrict, type Scope } from '../../../platform/auth/scopes.ts';
import { DomainError } from '../../../platform/base/errors/domain-error.ts';
import { randomBase36 } from '../../../platform/base/ids/ids.ts';
import { APP_CONFIG, type AppConfig, type Region } from '../../../platform/config/app-config.ts';
import type {
  OauthIdentity,
  OauthTokens,
} from '../../../providers/port/sign-in/oauth-descriptor.ts';
import { CredentialCheck } from '../../grants/credentials/credential-check.ts';
import { Grant } from '../../grants/grant.entity.ts';
import { coveredScopes, identityOf } from '../../grants/credentials/oauth-credentials.ts';
import { grantableScopes } from '../../grants/credentials/offered-scopes.ts';
import { OauthIntegrations, type SignInClient } from '../../integrations/oauth-integrations.ts';
import { OauthClients } from '../../oauth/oauth-clients.ts';
import { OauthError } from '../../oauth/oauth-error.ts';
import { browserHash } from './browser-secret.ts';
import { type AtProvider, LoginRequests } from '../links/login-requests.ts';
import { stepPath } from '../pages/form.ts';
import { offered } from '../pages/offers.ts';
import { oauthPage } from '../pages/sign-in.pages.ts';
import { TEXTS } from '../pages/texts.ts';
import type { Offer } from './provider-offers.ts';
import { errorsOf } from './sign-in-credentials.ts';
import { SignInProblem } from './sign-in-problem.ts';
import { SignInVisits, type Step, type Visit } from './sign-in-visits.ts';

const STATE_LENGTH = 40;

/** The account that must sign in again; `null` if any may. */
type Expected = Pick<Grant, 'email' | 'subject' | 'scope'> | null;

/** The sign-in cannot be completed, for a reason that the page shows. */
class Refused extends Error {
  constructor(readonly words: string) {
    super(words);
  }
}

/**
 * Sends users to an OAuth provider and back (RFC 6749 4.1). The state is bound to the login request
 * and to the browser.
 */
@Injectable()
export class SignInOauthService {
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
    const offer = visit.offers.find(({ id, oauth }) => oauth && id === offerId);
    const client = offer && (await this.integrations.client(visit.application.id, offer.provider));
    if (!offer || !client) return { redirect: stepPath('', visit.key.link) };
    try {
      return await this.#send(visit, offer.provider, client, false);
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      const { oauthUnavailable } = TEXTS.errors;
      return this.#again(visit, error instanceof OauthError ? oauthUnavailable : error.message);
    }
  }

  /** @param again whether the provider must ask for consent although the user has given it */
  async #send(visit: Visit, provider: string, client: SignInClient, again: boolean): Promise<Step> {
    const { request, key, browser } = visit;
    const { descriptor, registration, integration } = client;
    const source = { integration, own: null };
    const loginHint = request.loginHint ?? null;
    const wanted = wantedScopes(visit, client, await this.#expected(visit));
    const scopes = descriptor.scopesFor(wanted, source);
    const state = randomBase36(STATE_LENGTH);
    const { url, pkceVerifier, nonce } = await this.clients.authorizationUrl(registration, {
      redirectUri: this.#callback(visit),
      state,
      loginHint,
      scopes,
      parameters: descriptor.authorizationParameters({ source, loginHint, again }),
    });
    const pending = { provider, link: key.link, pkceVerifier, nonce, scopes, again };
    if (!(await this.requests.leave(request.id, browser, state, pending)))
      throw new SignInProblem('used');
    return { redirect: url };
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
      if (error instanceof Refused) return this.#again(visit, error.words);
      if (!(error instanceof DomainError)) throw error;
      return this.#again(visit, explained(error));
    }
  }

  async #signIn(
    visit: Visit,
    pending: AtProvider,
    parameters: URLSearchParams,
    state: string,
  ): Promise<Step> {
    const { request, application, browser, key } = visit;
    const { provider, pkceVerifier, nonce, scopes } = pending;
    const client = await this.integrations.client(application.id, provider);
    if (!client) throw new SignInProblem('request', TEXTS.errors.provider);
    const { tokens, claims } = await this.clients.exchange(client.registration, {
      parameters,
      redirectUri: this.#callback(visit),
      state,
      pkceVerifier,
      nonce,
      scopes,
    });
    const identity = claims && identityOf(client.descriptor, claims);
    const expected = await this.#expected(visit);
    const mayBe = !expected || !identity || isSame(expected, identity);
    if (!mayBe) throw await this.#otherAccount(client, tokens, expected.email);
    const wanted = wantedScopes(visit, client, expected);
    this.#assertCovered(visit, pending, client, { wanted, granted: tokens.scopes });
    // Without a refresh token the account would stop working within hours.
    if (tokens.refreshToken === null) {
      if (pending.again) throw new Refused(TEXTS.errors.oauthNoRefresh);
      return this.#send(visit, provider, client, true);
    }
    const email = identity?.email ?? expected?.email ?? request.loginHint ?? '';
    if (!email) throw new Refused(TEXTS.errors.oauthNobody);
    const verified = await this.check.verify(application.id, {
      provider,
      email,
      name: identity?.name ?? '',
      settings: {},
      tokens,
      scope: wanted,
      claimedEmail: identity?.email ?? null,
      subject: identity?.subject ?? null,
    });
    if (expected && !isSame(expected, { ...verified, subject: verified.subject ?? null }))
      throw await this.#otherAccount(client, tokens, expected.email);
    if (!(await this.requests.authenticate(request.id, browser, verified)))
      throw new SignInProblem('used');
    return { redirect: stepPath('', key.link) };
  }

  /** Refuses a consent that covers none of the scopes. */
  #assertCovered(
    visit: Visit,
    { provider, scopes }: AtProvider,
    { descriptor }: SignInClient,
    { wanted, granted }: { wanted: readonly Scope[] | null; granted: OauthTokens['scopes'] },
  ): void {
    const covered = coveredScopes(descriptor, scopes, granted);
    if (!covered || restrict(wanted, covered)?.length !== 0) return;
    const { name } = visit.requestingApplication;
    throw new Refused(TEXTS.errors.oauthNoScopes(name, titleOf(visit.offers, provider)));
  }

  async #expected({ request, application }: Visit): Promise<Expected> {
    if (!request.grantId) return null;
    const fields = ['email', 'subject', 'scope'] as const;
    const grant = await this.em
      .fork()
      .findOne(Grant, { id: request.grantId, application: application.id }, { fields });
    if (!grant) throw new SignInProblem('used');
    return grant;
  }

  /** Revokes tokens that are not stored, unless an account of the same user could need them. */
  async #otherAccount(
    { descriptor, registration }: SignInClient,
    tokens: OauthTokens,
    email: string,
  ): Promise<Refused> {
    if (!descriptor.revokesWholeConsent) {
      await this.clients.revoke(registration, tokens).catch((error: unknown) => {
        // A failure does not matter here.
        if (!(error instanceof OauthError)) throw error;
      });
    }
    return new Refused(TEXTS.errors.otherAccount(email));
  }

  #again(visit: Visit, words: string): Step {
    const offer = visit.offers.find(({ oauth }) => oauth);
    if (!offer) return { redirect: stepPath('', visit.key.link) };
    const { requestingApplication, key } = visit;
    return { page: oauthPage(requestingApplication, key, offered(offer), { '': words }) };
  }

  /** Redirect address that is registered at the provider. */
  #callback({ application }: Visit): string {
    return `${this.config.integrationsUrl[application.region as Region]}/connect/callback`;
  }
}

/**
 * The scopes that the grant will get: those of the request, else of the account that signs in
 * again, else of the integration. A scope is left out if the application does not let a sign-in
 * grant it.
 * @returns `null` for every scope
 * @throws {InvalidInputError} if none is left
 */
function wantedScopes(
  { request, application }: Visit,
  { scope }: SignInClient,
  expected: Expected,
): Scope[] | null {
  const applying = request.scope ?? expected?.scope ?? scope;
  return grantableScopes(application.allowedScopes, applying);
}

/** Whether this is the same user: by subject if both are known, else by address. */
function isSame(
  { email, subject }: NonNullable<Expected>,
  identity: Pick<OauthIdentity, 'email' | 'subject'>,
): boolean {
  if (subject && identity.subject) return subject === identity.subject;
  return identity.email === null || identity.email === email;
}

function titleOf(offers: readonly Offer[], provider: string): string {
  const offer = offers.find((one) => one.oauth && one.provider === provider);
  return offer ? offered(offer).title : provider;
}

function explained(error: DomainError): string {
  if (!(error instanceof OauthError)) return Object.values(errorsOf(error, null)).join(' ');
  const { oauthDenied, oauthUnapproved, oauthFailed, oauthUnavailable } = TEXTS.errors;
  if (error.failure === 'denied') return oauthDenied;
  if (error.failure === 'unapproved') return oauthUnapproved;
  return error.failure === 'unavailable' ? oauthUnavailable : oauthFailed;
}
