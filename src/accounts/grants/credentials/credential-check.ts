import { Inject, Injectable } from '@nestjs/common';
import { type CheckTarget, ConnectionChecks } from '../../../platform/egress/connection-checks.ts';
import type { UnknownField } from '../../../platform/wire/body-fields.ts';
import { parseSettings } from '../../../platform/wire/parse-settings.ts';
import { emailAddress } from '../../../platform/wire/wire.schema.ts';
import { InvalidInputError } from '../../../platform/base/errors/domain-error.ts';
import { restrict } from '../../../platform/auth/scopes.ts';
import type { Connector } from '../../../providers/port/connector.ts';
import { ConnectorRegistry } from '../../../providers/port/connector-registry.ts';
import {
  settingsOfSignIn,
  unknownSettings,
} from '../../../providers/port/sign-in/known-settings.ts';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import { AddressProofs } from '../proofs/address-proofs.ts';
import { OauthCredentials } from './oauth-credentials.ts';
import type { AccountCredentials, VerifiedCredentials } from './credentials.ts';
import { noScopes, toConnectError } from '../grants.errors.ts';

/**
 * Asks providers whether they accept an account. It uses the network, so never call it inside a
 * transaction.
 */
@Injectable()
export class CredentialCheck {
  constructor(
    private readonly connectors: ConnectorRegistry,
    private readonly checks: ConnectionChecks,
    @Inject(OauthCredentials) private readonly oauth: Pick<OauthCredentials, 'complete'>,
    @Inject(AddressProofs) private readonly proofs: Pick<AddressProofs, 'atSignIn'>,
  ) {}

  /**
   * Verifies credentials with the provider. If `settings` contain a refresh token, it is exchanged
   * first, which may use it up.
   * @throws {TurnedOffProviderError} {UnsupportedProviderError}
   * @throws {InvalidInputError} if settings are missing or wrong, or the provider refuses them
   * @throws {AddressUnprovenError} if the integration requires a proof of the address and there
   *   can be none
   * @throws {OauthError} from the authorization server
   * @throws {DomainError} `unavailable` if the provider cannot be reached
   * @throws {TooManyChecksError}
   */
  async verify(
    applicationId: string,
    credentials: AccountCredentials,
  ): Promise<VerifiedCredentials> {
    this.connectors.assertTurnedOn(credentials.provider);
    const completed = await this.oauth.complete(applicationId, credentials);
    const { provider, tokens, claimedEmail, covered, ...given } = completed;
    const connector = this.connectors.require(provider);
    const settings = parseSettings(connector.settingsSchema, given.settings);
    const account = {
      applicationId,
      email: given.email.toLowerCase(),
      name: given.name,
      organizationUnit: 'folder' as const,
      settings,
      ...(tokens ? { accessToken: tokens.accessToken } : {}),
      ...(tokens?.scopes ? { providerScopes: tokens.scopes } : {}),
    };
    const place = placeOf(applicationId, credentials, settings);
    // The search for a proof contacts servers that the address names, so it counts as part of the
    // check.
    return this.checks.run(place, async () => {
      const accepted = await this.#accepted(connector, account);
      const known = restrict(covered ?? null, accepted.covered ?? null);
      if (known && restrict(credentials.scope ?? null, known)?.length === 0)
        throw noScopes(provider);
      const proof = await this.proofs.atSignIn(connector, {
        applicationId,
        email: accepted.email,
        settings: accepted.settings,
        claimedEmail: claimedEmail ?? null,
        proof: accepted.proof ?? null,
      });
      return {
        provider,
        ...accepted,
        ...(tokens ? { tokens } : {}),
        covered: known,
        subject: accepted.subject ?? given.subject ?? null,
        proof,
      };
    });
  }

  /**
   * The account as the provider reports it.
   * @throws {InvalidInputError} also if there is no valid address
   */
  async #accepted(
    connector: Connector,
    account: Parameters<Connector['verify']>[0],
  ): Promise<Omit<VerifiedCredentials, 'provider' | 'tokens'>> {
    const { organizationUnit, name, proof, subject, covered, ...verified } = await Promise.resolve(
      account,
    )
      .then((given) => connector.verify(given))
      .catch(explain);
    const email = emailAddress().safeParse(verified.email);
    if (!email.success) {
      throw new InvalidInputError(
        `settings.email: the address of the account is required for ${connector.name}`,
        { missingFields: ['settings.email'] },
      );
    }
    const settings = { ...(verified.settings ?? account.settings) };
    return {
      email: email.data.toLowerCase(),
      name,
      organizationUnit,
      settings,
      proof: proof ?? null,
      subject: subject ?? null,
      covered: covered ?? null,
    };
  }

  /**
   * Settings of a new account that have no effect, because its provider does not have them.
   * @param account the provider and settings after `ConnectorRegistry.native`
   * @throws {UnsupportedProviderError}
   */
  ignoredSettings({
    provider,
    settings,
    settingsRead = [],
  }: Pick<AccountCredentials, 'provider' | 'settings' | 'settingsRead'>): UnknownField[] {
    const connector = this.connectors.require(provider);
    return unknownSettings(settings, settingsOfSignIn(connector, settings, settingsRead));
  }

  /**
   * Merges a change into stored settings, by the connector's own rule if it has one. The result
   * still has to be verified.
   * @throws {UnsupportedProviderError}
   * @throws {InvalidInputError} if the change is incomplete
   */
  merged(
    provider: string,
    stored: Readonly<Record<string, unknown>>,
    change: Readonly<Record<string, unknown>>,
  ): Readonly<Record<string, unknown>> {
    const connector = this.connectors.require(provider);
    try {
      return connector.mergeSettings?.(stored, change) ?? { ...stored, ...change };
    } catch (error) {
      return explain(error);
    }
  }
}

function placeOf(
  applicationId: string,
  { email, clientAddress }: AccountCredentials,
  { imap_host: host }: Readonly<Record<string, unknown>>,
): CheckTarget {
  return {
    applicationId,
    clientAddress,
    hosts: [typeof host === 'string' ? host : email.slice(email.lastIndexOf('@') + 1)],
  };
}

function explain(error: unknown): never {
  throw error instanceof ProviderError ? toConnectError(error) : error;
}
