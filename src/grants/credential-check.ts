import { Injectable } from '@nestjs/common';
import { parseSettings } from '../common/http/parse-settings.ts';
import { emailAddress } from '../common/http/wire.schema.ts';
import { InvalidInputError } from '../common/errors/domain-error.ts';
import { ConnectorRegistry } from '../providers/connector-registry.ts';
import type { VerifiedAccount } from '../providers/connector.ts';
import { ProviderError } from '../providers/provider-error.ts';
import { toConnectError } from './grants.errors.ts';
import type { OrganizationUnit } from './grant-status.ts';

/** An account's credentials as a request carries them. */
export interface AccountCredentials {
  provider: string;
  /** Empty where the provider itself knows it from the credentials. */
  email: string;
  /** Display name; empty: the provider's. */
  name: string;
  settings: Readonly<Record<string, unknown>>;
}

/** Credentials that the provider has accepted: what grants are made from. */
export interface VerifiedCredentials {
  provider: string;
  /** Lower case. */
  email: string;
  name: string;
  organizationUnit: OrganizationUnit;
  /** What the connector's schema made of them. */
  settings: Record<string, unknown>;
}

/** Asks providers whether they accept an account. Talks to the network: never inside a transaction. */
@Injectable()
export class CredentialCheck {
  constructor(private readonly connectors: ConnectorRegistry) {}

  /**
   * @throws {UnsupportedProviderError}
   * @throws {InvalidInputError} when settings are missing or wrong, or the provider refuses them
   * @throws {DomainError} `unavailable` when the provider cannot be asked
   */
  async verify(applicationId: string, credentials: AccountCredentials): Promise<VerifiedCredentials> {
    const { provider } = credentials;
    const connector = this.connectors.require(provider);
    const settings = parseSettings(connector.settingsSchema, credentials.settings);
    const account = {
      applicationId,
      email: credentials.email.toLowerCase(),
      name: credentials.name,
      organizationUnit: 'folder' as const,
      settings,
    };
    const { organizationUnit, name, ...verified } = await connector.verify(account).catch(explain);
    const email = emailAddress().safeParse(verified.email);
    if (!email.success) {
      throw new InvalidInputError(`settings.email: the address of the account is required for ${provider}`, {
        missingFields: ['settings.email'],
      });
    }
    return { provider, email: email.data.toLowerCase(), name, organizationUnit, settings };
  }
}

function explain(error: unknown): VerifiedAccount {
  throw error instanceof ProviderError ? toConnectError(error) : error;
}
