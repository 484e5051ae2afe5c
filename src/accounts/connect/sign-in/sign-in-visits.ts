import { Inject, Injectable } from '@nestjs/common';
import { EntityManager } from '@mikro-orm/postgresql';
import type { Application } from '../../applications/application.entity.ts';
import { APP_CONFIG, type AppConfig } from '../../../platform/config/app-config.ts';
import { Grant } from '../../grants/grant.entity.ts';
import { BrowserCookie, browserHash, formToken, isFormToken } from './browser-secret.ts';
import { RedirectUriError } from '../connect.errors.ts';
import type { LoginRequest } from '../links/login-request.entity.ts';
import { LoginRequests } from '../links/login-requests.ts';
import { LoginStartsService } from '../links/login-starts.service.ts';
import type { FormKey } from '../pages/form.ts';
import type { RequestingApplication, Page } from '../pages/layout.ts';
import { type Offer, ProviderOffers } from './provider-offers.ts';
import { SignInProblem } from './sign-in-problem.ts';
import { failureAddress, type ReturnError } from './sign-in-return.ts';

/** A browser that has opened a valid link. */
export interface Visit {
  request: LoginRequest;
  application: Application;
  /** Hash of the browser's secret. */
  browser: Buffer;
  key: FormKey;
  requestingApplication: RequestingApplication;
  /** The sign-in methods that this request allows. */
  offers: readonly Offer[];
}

/** The server's response to the browser: a page or a redirect. */
export type Step = { page: Page; retryAfterSeconds?: number } | { redirect: string };

/** Opens links and checks them before anything else runs. */
@Injectable()
export class SignInVisits {
  readonly cookie: BrowserCookie;
  readonly #secure: boolean;

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    private readonly em: EntityManager,
    private readonly requests: LoginRequests,
    private readonly starts: LoginStartsService,
    private readonly offers: ProviderOffers,
  ) {
    this.#secure = Object.values(config.integrationsUrl).every((url) => url.startsWith('https:'));
    this.cookie = new BrowserCookie(this.#secure);
  }

  /**
   * @param secret the browser's secret
   * @throws {SignInProblem} if the link is unknown, used or expired, the application is suspended,
   *   or its redirect address is no longer registered
   */
  async open(link: string, secret: string): Promise<Visit> {
    const found = await this.requests.find(link);
    if (found.is !== 'usable') throw new SignInProblem(found.is);
    const { request, application } = found;
    if (application.suspendedAt) throw new SignInProblem('suspended');
    await this.starts
      .assertRegistered(application, request.redirectUri, request.provider ?? null)
      .catch((error: unknown) => {
        throw error instanceof RedirectUriError ? new SignInProblem('redirect') : error;
      });
    return {
      request,
      application,
      browser: browserHash(secret),
      key: { link, token: formToken(secret, link) },
      requestingApplication: { name: application.name, iconUrl: this.#icon(application) },
      offers: await this.#offers(request, application),
    };
  }

  /**
   * Same as `open`, for a submitted form.
   * @param secret `undefined` if the browser sent no cookie
   * @throws {SignInProblem} `cookies` if there is no cookie, or the form is not from a page that
   *   this browser received for this link
   */
  async submit(link: string, secret: string | undefined, token: unknown): Promise<Visit> {
    if (secret === undefined || !isFormToken(token, secret, link))
      throw new SignInProblem('cookies');
    return this.open(link, secret);
  }

  /**
   * Where this browser was sent when the sign-in of this link ended, less than a minute ago.
   * @returns `undefined` if nowhere
   */
  async returnedTo(link: string, secret: string | undefined): Promise<string | undefined> {
    return secret === undefined ? undefined : this.requests.returnedTo(link, browserHash(secret));
  }

  /**
   * The offers that fit the request. If a grant authenticates again, only the method it used
   * before, if that is still offered.
   */
  async #offers(request: LoginRequest, application: Application): Promise<Offer[]> {
    const { flow, provider, grantId } = request;
    const all = await this.offers.of(application.id, flow);
    const fitting = all.filter((offer) => !provider || offer.provider === provider);
    if (!grantId) return fitting;
    const grant = await this.em.fork().findOne(Grant, { id: grantId, application: application.id });
    const byOauth = Boolean(grant?.tokensSealed);
    const same = fitting.filter(({ oauth }) => oauth === byOauth);
    return same.length > 0 ? same : fitting;
  }

  /** Pages served by https would not show an icon without https. */
  #icon({ iconUrl }: Application): string | null {
    return iconUrl && (!this.#secure || iconUrl.startsWith('https:')) ? iconUrl : null;
  }
}

/** Link back to the application, with the error. */
export function linkBack(
  { request, application }: Pick<Visit, 'request' | 'application'>,
  error: ReturnError,
  description: string,
): { name: string; url: string } {
  return { name: application.name, url: failureAddress(request, error, description) };
}
