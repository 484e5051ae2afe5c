import { Injectable } from '@nestjs/common';
import { EntityManager } from '@mikro-orm/postgresql';
import {
  FailedAttempts,
  isRefusal,
  TooManyFailuresError,
} from '../../platform/auth/failed-attempts.ts';
import { TooManyChecksError } from '../../platform/egress/connection-checks.ts';
import { DomainError } from '../../platform/base/errors/domain-error.ts';
import { CredentialCheck } from '../grants/credential-check.ts';
import type { VerifiedCredentials } from '../grants/credentials.ts';
import { Grant } from '../grants/grant.entity.ts';
import { MailDiscovery } from '../../providers/port/mail-discovery.ts';
import { ChosenServers, namesTried, UnusableServersError } from './chosen-servers.ts';
import { LoginRequests } from './login-requests.ts';
import { stepPath } from './pages/form.ts';
import { credentialsPage, type CredentialsForm } from './pages/sign-in.pages.ts';
import { TEXTS } from './pages/texts.ts';
import type { Offer } from './provider-offers.ts';
import {
  asTyped,
  errorsOf,
  flawsOf,
  isAboutServers,
  namesServers,
  sameCredentials,
  type Typed,
  typedIn,
  settingsOf,
} from './sign-in-credentials.ts';
import { SignInProblem } from './sign-in-problem.ts';
import { type Step, type Visit, wayBack } from './sign-in-visits.ts';

/** Address and password, from the page to the provider. Nothing is kept that the provider has not accepted. */
@Injectable()
export class SignInCredentials {
  constructor(
    private readonly em: EntityManager,
    private readonly requests: LoginRequests,
    private readonly check: CredentialCheck,
    private readonly failures: FailedAttempts,
    private readonly servers: ChosenServers,
    private readonly discovery: MailDiscovery,
  ) {}

  /**
   * @param body what the form sent
   * @param client network address of the browser
   * @throws {SignInProblem} when the request bears no further attempt, or has ended
   */
  async enter(
    visit: Visit,
    body: Readonly<Record<string, unknown>>,
    client: string,
  ): Promise<Step> {
    const { request, asking, key, browser } = visit;
    const offer = visit.offers.find(({ id, oauth }) => id === body['provider'] && !oauth);
    if (!offer) return { redirect: stepPath('', key.link) };
    const typed = typedIn(body);
    const again = (form: CredentialsForm, status?: number): Step => ({
      page: credentialsPage(asking, key, form, status),
    });
    const flaws = flawsOf(typed, offer.provider, await this.#expectedEmail(visit));
    if (Object.keys(flaws).length > 0) return again(sameCredentials(visit, offer, typed, flaws));
    try {
      const verified = await this.#try(visit, offer, typed, client);
      if (!(await this.requests.authenticate(request.id, browser, verified)))
        throw new SignInProblem('used');
      return { redirect: stepPath('', key.link) };
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      if (!(error instanceof TooManyFailuresError || error instanceof TooManyChecksError))
        return again(await this.#explained(visit, offer, typed, error));
      const seconds = error.details.retryAfterSeconds ?? 0;
      const errors: Record<string, string> =
        error instanceof TooManyChecksError
          ? { '': TEXTS.errors.busy }
          : { password: TEXTS.errors.slow(Math.max(1, Math.ceil(seconds / 60))) };
      return {
        ...again(sameCredentials(visit, offer, typed, errors), 429),
        retryAfterSeconds: seconds,
      };
    }
  }

  /** The address that has to sign in again; null: any may. */
  async #expectedEmail({ request, application }: Visit): Promise<string | null> {
    if (!request.grantId) return null;
    const grant = await this.em
      .fork()
      .findOne(Grant, { id: request.grantId, application: application.id }, { fields: ['email'] });
    // Of a grant that is gone nothing can come.
    if (!grant) throw new SignInProblem('used');
    return grant.email;
  }

  /** Every attempt counts until the provider has not refused it. @throws {DomainError} when nothing comes of it */
  async #try(
    visit: Visit,
    offer: Offer,
    typed: Typed,
    client: string,
  ): Promise<VerifiedCredentials> {
    const { request, application } = visit;
    const { provider } = offer;
    const { email } = typed;
    const settings = settingsOf(typed, provider, this.requests.settingsOf(request));
    if (!(await this.requests.countAttempt(request.id))) {
      const { text } = TEXTS.problem.tooMany;
      const reason = TEXTS.returned.tooMany;
      await this.requests.end(request.id, 'failed', reason);
      const back = request.redirectOnError ? wayBack(visit, 'access_denied', reason) : undefined;
      throw new SignInProblem('tooMany', text, back);
    }
    const credentials = { provider, email, name: '', settings, clientAddress: client };
    let refused = false;
    try {
      return await this.failures.during(
        {
          applicationId: application.id,
          client,
          names: namesTried(email, { ...settings, ...typed }),
        },
        () => this.check.verify(application.id, credentials),
      );
    } catch (error) {
      refused = isRefusal(error);
      throw this.servers.withoutDetails(error, { applicationId: application.id, ...credentials });
    } finally {
      if (!refused) await this.requests.uncountAttempt(request.id);
    }
  }

  /** What failed, at its field. Servers that could not be found are asked for; doubtful ones are shown to be looked at. */
  async #explained(
    visit: Visit,
    offer: Offer,
    typed: Typed,
    error: DomainError,
  ): Promise<CredentialsForm> {
    if (error instanceof UnusableServersError)
      return sameCredentials(visit, offer, typed, { '': TEXTS.errors.serversUnusable }, 'open');
    if (offer.provider !== 'imap' || namesServers(typed) || !isAboutServers(error)) {
      const hint =
        offer.provider === 'imap' ? (this.discovery.known(typed.email)?.hint ?? null) : null;
      return sameCredentials(visit, offer, typed, errorsOf(error, hint));
    }
    const texts = TEXTS.errors;
    const [doubtful] = (await this.discovery.discover(typed.email)).candidates;
    const errors = {
      ...(doubtful ? { '': texts.serversCheck } : { imap_host: texts.serversMissing }),
      password: texts.passwordAgain,
    };
    return doubtful
      ? sameCredentials(visit, offer, asTyped(typed, doubtful), errors, 'check')
      : sameCredentials(visit, offer, typed, errors, 'missing');
  }
}
