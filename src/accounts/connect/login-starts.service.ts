import { Inject, Injectable } from '@nestjs/common';
import { EntityManager } from '@mikro-orm/postgresql';
import { Application } from '../applications/application.entity.ts';
import type { Scope } from '../../platform/auth/scopes.ts';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { isId } from '../../platform/base/ids/ids.ts';
import { APP_CONFIG, type AppConfig, type Region } from '../../platform/config/app-config.ts';
import { Grant } from '../grants/grant.entity.ts';
import { IntegrationRequiredError } from '../grants/grants.errors.ts';
import type { GrantMetadata } from '../grants/grants.service.ts';
import { assertAllowedScopes } from '../grants/offered-scopes.ts';
import { Integration } from '../integrations/integration.entity.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import type { LoginRequest } from './login-request.entity.ts';
import { LoginRequests, type NewLoginRequest } from './login-requests.ts';
import { ProviderOffers } from './provider-offers.ts';
import { RedirectUriError } from './connect.errors.ts';
import { stepPath } from './pages/form.ts';

/** What `POST /connect/auth` asks for; null: not said. */
export interface HostedRequest {
  provider: string | null;
  redirectUri: string;
  grantId: string | null;
  /** Under which of its names the grant was given. */
  grantField: 'grant_id' | 'account_id';
  loginHint: string | null;
  clientState: string | null;
  /** Seconds. */
  expiresIn: number | null;
  settings: Readonly<Record<string, unknown>> | null;
  metadata: GrantMetadata | null;
  scope: readonly Scope[] | null;
}

/** A login request, and where to send the user. */
export interface StartedLogin {
  request: LoginRequest;
  url: string;
}

/** How long a link works where nothing else is said. */
const DEFAULT_SECONDS = 3600;

/** Where sign-ins begin. */
@Injectable()
export class LoginStarts {
  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly em: EntityManager,
    private readonly offers: ProviderOffers,
    private readonly requests: LoginRequests,
    private readonly connectors: ConnectorRegistry,
  ) {}

  /**
   * A link for a user of the application (api facts 2).
   * @throws {RedirectUriError}
   * @throws {IntegrationRequiredError}
   * @throws {InvalidInputError} when there is no such grant, it is another provider's, or the scopes are more than the application allows
   */
  async connect(applicationId: string, asked: HostedRequest): Promise<StartedLogin> {
    const em = this.em.fork();
    const application = await em.findOneOrFail(Application, { id: applicationId });
    const grant = await reauthenticated(em, applicationId, asked);
    const provider = asked.provider ?? grant?.provider ?? null;
    if (provider !== null) this.connectors.assertTurnedOn(provider);
    assertAllowedScopes(application.allowedScopes, asked.scope);
    const offered = await this.offers.of(applicationId, 'connect');
    const fitting = offered.filter((offer) => provider === null || offer.provider === provider);
    if (fitting.length === 0) throw new IntegrationRequiredError(provider ?? 'any provider');
    await this.assertRegistered(application, asked.redirectUri, provider);
    const integration = await em.findOne(Integration, {
      application: applicationId,
      provider: provider ?? '',
    });
    const { grantField: _, ...columns } = asked;
    const { request, link } = await this.requests.create(applicationId, {
      ...columns,
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

  /** A sign-in that a browser begins itself, at `GET /oauth/authorize`. Everything has been looked at. @returns its address */
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
   * Redirect addresses are compared to the letter (RFC 9700 4.1.3) with those of the application, and of the integration of the
   * provider; where the user chooses, of any of its integrations.
   * @throws {RedirectUriError}
   */
  async assertRegistered(
    { id, redirectUris }: Application,
    redirectUri: string,
    provider: string | null,
  ): Promise<void> {
    if (redirectUris.includes(redirectUri)) return;
    const integrations = await this.em
      .fork()
      .find(Integration, { application: id, ...(provider === null ? {} : { provider }) });
    if (!integrations.some((integration) => integration.redirectUris.includes(redirectUri)))
      throw new RedirectUriError();
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
