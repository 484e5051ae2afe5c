import { Injectable } from '@nestjs/common';
import type { Scope } from '../../platform/auth/scopes.ts';
import { SecretBox } from '../../platform/base/crypto/secret-box.ts';
import { Database } from '../../platform/database/sql.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import type { IntegrationValues } from '../../providers/port/sign-in/integration-descriptor.ts';
import type {
  OauthDescriptor,
  OauthRegistration,
} from '../../providers/port/sign-in/oauth-descriptor.ts';
import { openIntegrationSecrets } from './integration-secrets.ts';
import type { Integration } from './integration.entity.ts';

/** How accounts of a provider sign in by OAuth for one application. */
export interface ProviderOauth {
  descriptor: OauthDescriptor;
  /** `null` if the application has no integration for the provider. */
  integration: IntegrationValues | null;
  /** Default scopes of the integration; `null` for every scope. */
  scope: readonly Scope[] | null;
}

/** The same, for an integration with a client, at which users can sign in on a page. */
export interface SignInClient extends ProviderOauth {
  registration: OauthRegistration;
}

const FIND = `
  select id, settings, secret_settings_sealed as "secretSettingsSealed", scope
  from integration where application_id = $1 and provider = $2`;

type Row = Pick<Integration, 'id' | 'settings' | 'secretSettingsSealed'> & {
  scope: Scope[] | null;
};

/** Finds how accounts of an application sign in by OAuth, according to the current integration. */
@Injectable()
export class OauthIntegrations {
  constructor(
    private readonly database: Database,
    private readonly secretBox: SecretBox,
    private readonly connectors: ConnectorRegistry,
  ) {}

  /**
   * @returns `null` if accounts of the provider never sign in by OAuth
   * @throws {UnsealError}
   */
  async find(applicationId: string, provider: string): Promise<ProviderOauth | null> {
    const descriptor = this.connectors.find(provider)?.oauth;
    if (!descriptor) return null;
    const [row] = await this.database.query<Row>(FIND, [applicationId, provider]);
    if (!row) return { descriptor, integration: null, scope: null };
    const { id, settings, secretSettingsSealed: sealed, scope } = row;
    const secrets = sealed ? openIntegrationSecrets(this.secretBox, id, sealed) : {};
    return { descriptor, integration: { settings, secrets }, scope };
  }

  /**
   * @returns `null` if users cannot sign in at the provider: its integration is missing or has no
   *   client
   * @throws {UnsealError}
   */
  async client(applicationId: string, provider: string): Promise<SignInClient | null> {
    const oauth = await this.find(applicationId, provider);
    if (!oauth?.integration) return null;
    const { descriptor, integration } = oauth;
    const registration = descriptor.registration({ integration, own: null });
    return registration && { ...oauth, registration };
  }
}
