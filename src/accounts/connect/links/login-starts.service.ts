import { Inject, Injectable } from '@nestjs/common';
import { EntityManager } from '@mikro-orm/postgresql';
import { Application } from '../../applications/application.entity.ts';
import type { Scope } from '../../../platform/auth/scopes.ts';
import { InvalidInputError } from '../../../platform/base/errors/domain-error.ts';
import type { ReportUnknown } from '../../../platform/wire/body-fields.ts';
import { isId } from '../../../platform/base/ids/ids.ts';
import { APP_CONFIG, type AppConfig, type Region } from '../../../platform/config/app-config.ts';
import { Grant } from '../../grants/grant.entity.ts';
import {
  IntegrationRequiredError,
  UnconnectableProviderError,
} from '../../grants/grants.errors.ts';
import type { GrantMetadata } from '../../grants/grants.service.ts';
import { assertAllowedScopes } from '../../grants/credentials/offered-scopes.ts';
import { Integration } from '../../integrations/integration.entity.ts';
import { assertRegistrable } from '../../integrations/registrable-providers.ts';
import { ConnectorRegistry } from '../../../providers/port/connector-registry.ts';
import { unknownSettings } from '../../../providers/port/sign-in/known-settings.ts';
import type { LoginRequest } from './login-request.entity.ts';
import { LoginRequests, type NewLoginRequest } from './login-requests.ts';
import { ProviderOffers } from '../sign-in/provider-offers.ts';
import { RedirectUriError } from '../connect.errors.ts';
import { stepPath } from '../pages/form.ts';
import { settingsOfPages } from '../sign-in/settings-of-pages.ts';

/** The values of `POST /connect/auth`; `null` if not given. */
export interface HostedRequest {
  provider: string | null;
  /** `null`: the sign-in ends on our own page, which says that it is done. */
  redirectUri: string | null;
  grantId: string | null;
  /** The name of the field that contained the grant's id. */
  grantField: 'grant_id' | 'account_id';
  loginHint: string | null;
  clientState: string | null;
  /** Lifetime of the link in seconds. */
  expiresIn: number | null;
  settings: Readonly<Record<string, unknown>> | null;
  metadata: GrantMetadata | null;
  scope: readonly Scope[] | null;
}

/** A login request, and the URL to send the user to. */
export interface StartedLogin {
  request: LoginRequest;
  url: string;
}

/** The page at which a sign-in without a redirect address ends. */
const DONE_PATH = '/connect/login/done';

/** Default lifetime of a link. */
const DEFAULT_SECONDS = 3600;

/** Creates login requests. */
@Injectable()
export class LoginStartsService {
  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly em: EntityManager,
    private readonly offers: ProviderOffers,
    private readonly requests: LoginRequests,
    private readonly connectors: ConnectorRegistry,
  ) {}

  /**
   * Creates a sign-in link for a user of the application.
   * @param report called with the settings that no page of the sign-in uses
   * @throws errors of `report`
   * @throws {RedirectUriError}
   * @throws {IntegrationRequiredError}
   * @throws {UnconnectableProviderError}
   * @throws {InvalidInputError} if the grant does not exist or has another provider, or the
   *   scopes exceed those the application allows
   */
  async connect(
    applicationId: string,
    asked: HostedRequest,
    report: ReportUnknown,
  ): Promise<StartedLogin> {
    const em = this.em.fork();
    const application = await em.findOneOrFail(Application, { id: applicationId });
    const grant = await reauthenticated(em, applicationId, asked);
    const provider = asked.provider ?? grant?.provider ?? null;
    if (asked.provider !== null) assertRegistrable(this.connectors, asked.provider);
    if (provider !== null) this.connectors.assertTurnedOn(provider);
    assertAllowedScopes(application.allowedScopes, asked.scope);
    const offered = await this.offers.of(applicationId, 'connect');
    const fitting = offered.filter((offer) => provider === null || offer.provider === provider);
    if (fitting.length === 0) throw await this.#nothingToOffer(applicationId, provider);
    const redirectUri = asked.redirectUri ?? this.#doneAt(application);
    await this.assertRegistered(application, redirectUri, provider);
    report(unknownSettings(asked.settings ?? {}, settingsOfPages(fitting, this.connectors)));
    const integration = await em.findOne(Integration, {
      application: applicationId,
      provider: provider ?? '',
    });
    const { grantField: _, ...columns } = asked;
    const { request, link } = await this.requests.create(applicationId, {
      ...columns,
      redirectUri,
      flow: 'connect',
      provider,
      grantId: grant?.id ?? null,
      loginHint: grant?.email ?? asked.loginHint,
      responseType: 'code',
      redirectOnError: true,
      expiresIn: asked.expiresIn ?? integration?.expiresIn ?? DEFAULT_SECONDS,
    });
    return { request, url: this.#urlOf(application) + stepPath('', link) };
  }

  /**
   * Creates a sign-in that a browser starts itself, at `GET /oauth/authorize`. The caller has
   * checked all values.
   * @returns the URL of the sign-in page
   */
  async authorize(
    application: Application,
    asked: Pick<
      NewLoginRequest,
      | 'provider'
      | 'redirectUri'
      | 'responseType'
      | 'redirectOnError'
      | 'clientState'
      | 'scope'
      | 'loginHint'
    > & { firstOffer: string | null },
  ): Promise<string> {
    const { firstOffer, ...columns } = asked;
    const { link } = await this.requests.create(application.id, {
      ...columns,
      flow: 'oauth',
      grantId: null,
      metadata: null,
      settings: null,
      expiresIn: DEFAULT_SECONDS,
    });
    return (
      this.#urlOf(application) + stepPath('', link, firstOffer ? { provider: firstOffer } : {})
    );
  }

  /**
   * Checks that a redirect address is registered. Addresses must be identical (RFC 9700 4.1.3) to
   * one of the application or of the provider's integration. If the user chooses the provider, any
   * integration of the application counts. Our own last page always does.
   * @throws {RedirectUriError}
   */
  async assertRegistered(
    application: Application,
    redirectUri: string,
    provider: string | null,
  ): Promise<void> {
    const { id, redirectUris } = application;
    if (redirectUris.includes(redirectUri) || redirectUri === this.#doneAt(application)) return;
    const integrations = await this.em
      .fork()
      .find(Integration, { application: id, ...(provider === null ? {} : { provider }) });
    if (!integrations.some((integration) => integration.redirectUris.includes(redirectUri)))
      throw new RedirectUriError();
  }

  /** Why no account can be connected. */
  async #nothingToOffer(applicationId: string, provider: string | null): Promise<Error> {
    if (provider !== null)
      return this.connectors.has(provider)
        ? new IntegrationRequiredError(provider)
        : new UnconnectableProviderError([provider]);
    const registered = await this.em.fork().find(Integration, { application: applicationId });
    if (registered.length === 0) return new IntegrationRequiredError('any provider');
    for (const { provider: name } of registered) this.connectors.assertTurnedOn(name);
    return new UnconnectableProviderError(registered.map(({ provider: name }) => name));
  }

  #doneAt(application: Application): string {
    return this.#urlOf(application) + DONE_PATH;
  }

  #urlOf({ region }: Application): string {
    return this.config.integrationsUrl[region as Region];
  }
}

/** @throws {InvalidInputError} */
async function reauthenticated(
  em: EntityManager,
  applicationId: string,
  { grantId, grantField, provider }: HostedRequest,
): Promise<Grant | null> {
  if (grantId === null) return null;
  const grant = isId(grantId)
    ? await em.findOne(Grant, { id: grantId, application: applicationId })
    : null;
  if (!grant || (provider !== null && provider !== grant.provider)) {
    throw new InvalidInputError(`${grantField}: there is no such grant of this provider`, {
      betaType: 'grant.not_found',
    });
  }
  return grant;
}
