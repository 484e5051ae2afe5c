import { Injectable } from '@nestjs/common';
import { EntityManager } from '@mikro-orm/postgresql';
import {
  FailedAttempts,
  isRefusal,
  TooManyFailuresError,
} from '../../../platform/auth/failed-attempts.ts';
import { TooManyChecksError } from '../../../platform/egress/connection-checks.ts';
import { DomainError } from '../../../platform/base/errors/domain-error.ts';
import { CredentialCheck } from '../../grants/credentials/credential-check.ts';
import type { VerifiedCredentials } from '../../grants/credentials/credentials.ts';
import { Grant } from '../../grants/grant.entity.ts';
import { MailDiscovery } from '../../../providers/port/sign-in/mail-discovery.ts';
import { ChosenServers, namesTried, UnusableServersError } from './chosen-servers.ts';
import { LoginRequests } from '../links/login-requests.ts';
import { stepPath } from '../pages/form.ts';
import { credentialsPage, type CredentialsForm } from '../pages/sign-in.pages.ts';
import { TEXTS } from '../pages/texts.ts';
import type { Offer } from './provider-offers.ts';
import {
  asTyped,
  errorsOf,
  flawsOf,
  formOf,
  isAboutServers,
  namesServers,
  sameCredentials,
  type Typed,
  typedIn,
  settingsOf,
} from './sign-in-credentials.ts';
import { SignInProblem } from './sign-in-problem.ts';
import { type Step, type Visit, linkBack } from './sign-in-visits.ts';

/**
 * Checks an address and a password from the sign-in page with the provider. Credentials are stored
 * only if the provider accepts them.
 */
@Injectable()
export class SignInCredentialsService {
  constructor(
    private readonly em: EntityManager,
    private readonly requests: LoginRequests,
    private readonly check: CredentialCheck,
    private readonly failures: FailedAttempts,
    private readonly servers: ChosenServers,
    private readonly discovery: MailDiscovery,
  ) {}

  /**
   * Handles the form with address and password.
   * @param body fields of the form
   * @param client IP address of the browser
   * @throws {SignInProblem} if the request has ended or allows no further attempt
   */
  async enter(
    visit: Visit,
    body: Readonly<Record<string, unknown>>,
    client: string,
  ): Promise<Step> {
    const { request, requestingApplication, key, browser } = visit;
    const offer = visit.offers.find(({ id, oauth }) => id === body['provider'] && !oauth);
    if (!offer) return { redirect: stepPath('', key.link) };
    const typed = typedIn(body);
    const again = (form: CredentialsForm, status?: number): Step => ({
      page: credentialsPage(requestingApplication, key, form, status),
    });
    const flaws = flawsOf(typed, formOf(offer), await this.#expectedEmail(visit));
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

  /** The address that must sign in again; `null` if any address may sign in. */
  async #expectedEmail({ request, application }: Visit): Promise<string | null> {
    if (!request.grantId) return null;
    const grant = await this.em
      .fork()
      .findOne(Grant, { id: request.grantId, application: application.id }, { fields: ['email'] });
    // A deleted grant cannot authenticate again.
    if (!grant) throw new SignInProblem('used');
    return grant.email;
  }

  /**
   * Tries the credentials. Every attempt is counted first, and removed from the count unless the
   * provider refused it.
   * @throws {DomainError} if the account cannot be connected
   */
  async #try(
    visit: Visit,
    offer: Offer,
    typed: Typed,
    client: string,
  ): Promise<VerifiedCredentials> {
    const { request, application, browser } = visit;
    const { provider } = offer;
    const { email } = typed;
    const settings = settingsOf(typed, formOf(offer), this.requests.settingsOf(request));
    if (!(await this.requests.countAttempt(request.id))) {
      const { text } = TEXTS.problem.tooMany;
      const reason = TEXTS.returned.tooMany;
      await this.requests.end(request.id, 'failed', reason, browser, null);
      const back = request.redirectOnError ? linkBack(visit, 'access_denied', reason) : undefined;
      throw new SignInProblem('tooMany', text, back);
    }
    const credentials = { provider, email, name: '', settings, clientAddress: client };
    let refused = false;
    try {
      return await this.failures.run(
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

  /**
   * The form with an error at the field that caused it. If no servers were found, the form asks for
   * them. If only uncertain servers were found, the form shows them for the user to check.
   */
  async #explained(
    visit: Visit,
    offer: Offer,
    typed: Typed,
    error: DomainError,
  ): Promise<CredentialsForm> {
    if (error instanceof UnusableServersError)
      return sameCredentials(visit, offer, typed, { '': TEXTS.errors.serversUnusable }, 'open');
    const { servers } = formOf(offer);
    if (!servers || namesServers(typed) || !isAboutServers(error)) {
      const hint = servers ? (this.discovery.known(typed.email)?.hint ?? null) : null;
      return sameCredentials(visit, offer, typed, errorsOf(error, hint));
    }
    const texts = TEXTS.errors;
    const [candidate] = (await this.discovery.discover(typed.email)).candidates;
    const errors = {
      ...(candidate ? { '': texts.serversCheck } : { imap_host: texts.serversMissing }),
      password: texts.passwordAgain,
    };
    return candidate
      ? sameCredentials(visit, offer, asTyped(typed, candidate), errors, 'check')
      : sameCredentials(visit, offer, typed, errors, 'missing');
  }
}
