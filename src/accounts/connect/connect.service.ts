import { Injectable } from '@nestjs/common';
import { EntityManager } from '@mikro-orm/postgresql';
import type { Application } from '../applications/application.entity.ts';
import { ApplicationsService } from '../applications/applications.service.ts';
import { ApplicationSuspendedError } from '../../platform/auth/application-suspended-error.ts';
import { Credentials } from '../../platform/auth/credentials.ts';
import { FailedAttempts } from '../../platform/auth/failed-attempts.ts';
import type { Scope } from '../../platform/auth/scopes.ts';
import { ConnectionChecks } from '../../platform/egress/connection-checks.ts';
import { NotFoundError } from '../../platform/base/errors/domain-error.ts';
import type { ReportUnknown } from '../../platform/wire/body-fields.ts';
import { CredentialCheck } from '../grants/credentials/credential-check.ts';
import type { AccountCredentials } from '../grants/credentials/credentials.ts';
import {
  type Connection,
  GrantConnectionsService,
} from '../grants/moves/grant-connections.service.ts';
import { Grant } from '../grants/grant.entity.ts';
import { ReauthenticationMismatchError } from '../grants/grants.errors.ts';
import { GrantsService } from '../grants/grants.service.ts';
import { assertAllowedScopes, offeredScopes } from '../grants/credentials/offered-scopes.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import type { DetectedProvider } from '../../providers/port/sign-in/sign-in-descriptor.ts';
import { AuthorizationCodes, type AuthorizedToken } from './oauth/authorization-codes.ts';
import { ChosenServers, namesTried } from './sign-in/chosen-servers.ts';
import { ClientCredentialsError, CodeError, NativeProviderError } from './connect.errors.ts';

/** A client that sends its credentials in the body, without an Authorization header. */
export interface Caller {
  clientId: string;
  /** `null` if the client sent no secret. */
  clientSecret: string | null;
  /** IP address of the client. */
  client: string;
}

/** An account to connect with credentials that the application has collected itself. */
export interface NativeRequest {
  caller: Caller;
  credentials: AccountCredentials;
  /** If absent, an existing grant keeps its scopes and a new one has none of its own. */
  scope?: Scope[] | null;
  /** Stored with the grant, as the IP address of the caller is. */
  userAgent?: string | undefined;
  reauthAccountId?: string;
}

/**
 * Native authentication: credentials are exchanged for a code, then the code and the client secret
 * for an account.
 */
@Injectable()
export class ConnectService {
  constructor(
    private readonly em: EntityManager,
    private readonly applications: ApplicationsService,
    private readonly clientCredentials: Credentials,
    private readonly connectors: ConnectorRegistry,
    private readonly credentialCheck: CredentialCheck,
    private readonly connections: GrantConnectionsService,
    private readonly grants: GrantsService,
    private readonly codes: AuthorizationCodes,
    private readonly failures: FailedAttempts,
    private readonly servers: ChosenServers,
    private readonly checks: ConnectionChecks,
  ) {}

  /**
   * Verifies the credentials with the provider. No account is connected yet. A caller without a
   * secret is not authenticated, so wrong passwords are limited and errors do not describe servers.
   * @param report called with the settings that the provider does not have, before it is asked
   * @returns a code for one exchange
   * @throws errors of `report`
   * @throws {ClientCredentialsError} {TooManyFailuresError} {NativeProviderError}
   * @throws {InvalidInputError} for scopes that the provider does not have
   * @throws errors of `CredentialCheck.verify`
   */
  async authorize(native: NativeRequest, report: ReportUnknown): Promise<string> {
    const { caller, scope, reauthAccountId, userAgent, ...request } = native;
    const { id: applicationId, allowedScopes } = await this.#applicationOf(caller);
    const isProven = caller.clientSecret !== null;
    const { provider, settings } = request.credentials;
    const credentials = {
      ...request.credentials,
      ...this.connectors.native(provider, settings),
      scope,
      ...(isProven ? {} : { clientAddress: caller.client }),
    };
    this.#assertConnectable(credentials.provider, provider);
    report(this.credentialCheck.ignoredSettings(credentials));
    offeredScopes(this.connectors.require(credentials.provider), scope);
    assertAllowedScopes(allowedScopes, scope);
    if (reauthAccountId !== undefined)
      await this.#assertReauthenticates(applicationId, reauthAccountId, credentials);
    const names = namesTried(credentials.email, credentials.settings);
    const verified = await this.failures
      .run({ applicationId, client: isProven ? null : caller.client, names }, () =>
        this.credentialCheck.verify(applicationId, credentials),
      )
      .catch((error: unknown) => {
        throw isProven
          ? error
          : this.servers.withoutDetails(error, { applicationId, ...credentials });
      });
    return this.em.transactional((em) =>
      this.codes.issue(em, applicationId, {
        credentials: verified,
        scope,
        reauthAccountId,
        userAgent,
        ip: caller.client,
      }),
    );
  }

  /**
   * Connects the account behind the code.
   * @throws {ClientCredentialsError}
   * @throws {CodeError}
   * @throws {QuickstartLimitError} if the application is at its limit; the code stays valid until
   *   it expires
   */
  async exchange(caller: Caller, code: string): Promise<Connection> {
    const { applicationId } = await this.#authenticate(caller);
    return this.em.transactional(async (em) => {
      const request = await this.codes.take(em, applicationId, code);
      if (!request) throw new CodeError();
      if ('accessToken' in request) return connectedAlready(em, applicationId, request);
      const { credentials, ...options } = request;
      return this.connections.connectWithin(em, applicationId, credentials, {
        ...options,
        integrationRequired: false,
      });
    });
  }

  /**
   * Detects the provider of an address.
   * @returns `null` if it is not known
   * @throws {ClientCredentialsError}
   */
  async detect(caller: Caller, email: string): Promise<DetectedProvider | null> {
    const { applicationId } = await this.#authenticate(caller);
    const hosts = [email.slice(email.lastIndexOf('@') + 1)];
    return this.checks.run({ applicationId, hosts }, () => this.connectors.detect(email));
  }

  /**
   * @throws {ClientCredentialsError}
   * @throws {TooManyFailuresError} instead, if this client sent wrong credentials too often
   */
  async #authenticate({
    clientId,
    clientSecret,
    client,
  }: Caller): Promise<{ applicationId: string }> {
    const application = await this.clientCredentials.applicationBySecret(
      clientId,
      clientSecret ?? '',
    );
    if (application) return application;
    await this.failures.countWrongSecret(client, { clientId });
    throw new ClientCredentialsError();
  }

  /**
   * @param named the name in the request
   * @throws {TurnedOffProviderError} {NativeProviderError}
   */
  #assertConnectable(provider: string, named: string): void {
    this.connectors.assertTurnedOn(provider);
    const supported = this.connectors.connectable().map(({ name }) => name as string);
    if (!supported.includes(provider))
      throw new NativeProviderError(named, [...supported, ...this.connectors.otherNames()]);
  }

  /**
   * Same as `#authenticate` if the caller sent a secret. Otherwise returns the application of the
   * client id without authentication.
   */
  async #applicationOf(caller: Caller): Promise<Application> {
    if (caller.clientSecret !== null) await this.#authenticate(caller);
    try {
      const application = await this.applications.findByClientId(caller.clientId);
      if (application.suspendedAt) throw new ApplicationSuspendedError();
      return application;
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      await this.failures.countWrongSecret(caller.client, { clientId: caller.clientId });
      throw new ClientCredentialsError();
    }
  }

  /**
   * Throws the same error for every mismatch. Any caller that knows a client id can call this, and
   * must learn nothing about the account.
   */
  async #assertReauthenticates(
    applicationId: string,
    accountId: string,
    { provider, email }: AccountCredentials,
  ): Promise<void> {
    const grant = await this.grants.get(applicationId, accountId).catch((error: unknown) => {
      if (error instanceof NotFoundError) return null;
      throw error;
    });
    if (grant?.provider !== provider || grant.email !== email.toLowerCase()) {
      throw new ReauthenticationMismatchError(
        'reauth_account_id: there is no such account of this address and provider',
      );
    }
  }
}

/** @throws {CodeError} if the account has been disconnected since the code was issued */
async function connectedAlready(
  em: EntityManager,
  applicationId: string,
  { grantId, accessToken, expiresAt }: AuthorizedToken,
): Promise<Connection> {
  const grant = await em.findOne(Grant, { id: grantId, application: applicationId });
  if (!grant) throw new CodeError();
  return { grant, accessToken, expiresAt: expiresAt === null ? null : new Date(expiresAt) };
}
