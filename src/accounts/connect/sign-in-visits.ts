import { Inject, Injectable } from '@nestjs/common';
import { EntityManager } from '@mikro-orm/postgresql';
import type { Application } from '../applications/application.entity.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import { Grant } from '../grants/grant.entity.ts';
import { BrowserCookie, browserHash, formToken, isFormToken } from './browser-secret.ts';
import { RedirectUriError } from './connect.errors.ts';
import type { LoginRequest } from './login-request.entity.ts';
import { LoginRequests } from './login-requests.ts';
import { LoginStarts } from './login-starts.service.ts';
import type { FormKey } from './pages/form.ts';
import type { Asking, Page } from './pages/layout.ts';
import { type Offer, ProviderOffers } from './provider-offers.ts';
import { SignInProblem } from './sign-in-problem.ts';
import { failureAddress, type ReturnError } from './sign-in-return.ts';

/** A browser with a link that works. */
export interface Visit {
  request: LoginRequest;
  application: Application;
  /** Hash of the browser's secret. */
  browser: Buffer;
  key: FormKey;
  asking: Asking;
  /** The ways to sign in that this request leaves. */
  offers: readonly Offer[];
}

/** What happens next in the browser. */
export type Step = { page: Page; retryAfterSeconds?: number } | { redirect: string };

/** Opens links: whatever is wrong with one is found here, before anything is done. */
@Injectable()
export class SignInVisits {
  readonly cookie: BrowserCookie;
  readonly #secure: boolean;

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    private readonly em: EntityManager,
    private readonly requests: LoginRequests,
    private readonly starts: LoginStarts,
    private readonly offers: ProviderOffers,
  ) {
    this.#secure = Object.values(config.integrationsUrl).every((url) => url.startsWith('https:'));
    this.cookie = new BrowserCookie(this.#secure);
  }

  /**
   * @param secret the browser's
   * @throws {SignInProblem} when the link is unknown, used or expired, or the application's address is not registered any more
   */
  async open(link: string, secret: string): Promise<Visit> {
    const found = await this.requests.find(link);
    if (found.is !== 'usable') throw new SignInProblem(found.is);
    const { request, application } = found;
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
      asking: { name: application.name, iconUrl: this.#icon(application) },
      offers: await this.#offers(request, application),
    };
  }

  /**
   * As `open`, for a form that was sent.
   * @param secret undefined: the browser sent no cookie
   * @throws {SignInProblem} `cookies` also when the form is not from a page this browser was given for this link
   */
  async submit(link: string, secret: string | undefined, token: unknown): Promise<Visit> {
    if (secret === undefined || !isFormToken(token, secret, link))
      throw new SignInProblem('cookies');
    return this.open(link, secret);
  }

  /** Whoever signs in again does it the way they did before. */
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

  /** A picture without https would be shown by no page with it. */
  #icon({ iconUrl }: Application): string | null {
    return iconUrl && (!this.#secure || iconUrl.startsWith('https:')) ? iconUrl : null;
  }
}

/** The way back to the application, with what went wrong. */
export function wayBack(
  { request, application }: Pick<Visit, 'request' | 'application'>,
  error: ReturnError,
  description: string,
): { name: string; url: string } {
  return { name: application.name, url: failureAddress(request, error, description) };
}
