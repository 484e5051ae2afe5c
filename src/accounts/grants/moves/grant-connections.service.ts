import { Injectable } from '@nestjs/common';
import { LockMode, ref } from '@mikro-orm/core';
import { EntityManager } from '@mikro-orm/postgresql';
import { ApplicationSuspendedError } from '../../../platform/auth/application-suspended-error.ts';
import { Application } from '../../applications/application.entity.ts';
import { FailedAttempts } from '../../../platform/auth/failed-attempts.ts';
import { restrict, type Scope } from '../../../platform/auth/scopes.ts';
import { recordAccountAudit } from '../record-account-audit.ts';
import { SecretBox } from '../../../platform/base/crypto/secret-box.ts';
import { newId } from '../../../platform/base/ids/ids.ts';
import { Clock } from '../../../platform/base/time/clock.ts';
import { sqlOf } from '../../../platform/database/orm-transactions.ts';
import type { ReportUnknown } from '../../../platform/wire/body-fields.ts';
import { Integration } from '../../integrations/integration.entity.ts';
import { assertRegistrable } from '../../integrations/registrable-providers.ts';
import { ConnectorRegistry } from '../../../providers/port/connector-registry.ts';
import { scheduleSync } from '../../sync-schedule/schedule-sync.ts';
import { AccessTokensService } from '../tokens/access-tokens.service.ts';
import { AccountListeners } from '../account-listeners.ts';
import { notifyProofChange } from '../proofs/address-proof-state.ts';
import { lockApplication, type LockedApplication } from '../application-lock.ts';
import { CredentialCheck } from '../credentials/credential-check.ts';
import type { AccountCredentials, VerifiedCredentials } from '../credentials/credentials.ts';
import { type GrantStateChange, moveGrants } from './grant-moves.ts';
import {
  assertAllowedScopes,
  grantableScopes,
  offeredScopes,
} from '../credentials/offered-scopes.ts';
import { Grant } from '../grant.entity.ts';
import { findAccount, mailboxOf, storeMailbox } from './mailbox-match.ts';
import { emptyForMailbox } from './mailbox-move.ts';
import {
  IntegrationRequiredError,
  QuickstartLimitError,
  ReauthenticationMismatchError,
  UnconnectableProviderError,
} from '../grants.errors.ts';
import type { GrantMetadata } from '../grants.service.ts';

/** Characters of the user agent that are stored. */
const MOST_USER_AGENT = 500;

/**
 * How an account is connected. For an account that is already connected, absent values keep what is
 * stored.
 */
export interface ConnectOptions {
  /**
   * Whether the application must have an integration for the provider. True for requests to the
   * integrations address.
   */
  integrationRequired: boolean;
  /** `null` if the grant has no scopes of its own and uses those of the integration. */
  scope?: readonly Scope[] | null;
  metadata?: GrantMetadata;
  state?: string;
  /** The client that sent the credentials. A new sign-in replaces both values. */
  userAgent?: string | undefined;
  ip?: string | undefined;
  /** Id of the grant that these credentials must authenticate again. */
  reauthAccountId?: string;
  /**
   * Whether to revoke the account's earlier tokens; if absent, the application's setting decides.
   */
  revokeOtherTokens?: boolean | undefined;
  /**
   * The scopes that the user has agreed to on a page, `null` for every scope. If absent, the user
   * has agreed to the scopes that apply.
   */
  agreed?: readonly Scope[] | null;
}

export interface Connection {
  grant: Grant;
  /**
   * The new token, which cannot be read again. Earlier tokens keep working until they are revoked.
   */
  accessToken: string;
  /** When the token expires; `null` if it works until it is revoked. */
  expiresAt: Date | null;
}

/** Connects accounts. Native, hosted and direct grants are all created here. */
@Injectable()
export class GrantConnectionsService {
  constructor(
    private readonly em: EntityManager,
    private readonly credentials: CredentialCheck,
    private readonly tokens: AccessTokensService,
    private readonly connectors: ConnectorRegistry,
    private readonly listeners: AccountListeners,
    private readonly secretBox: SecretBox,
    private readonly clock: Clock,
    private readonly failures: FailedAttempts,
  ) {}

  /**
   * Verifies the credentials with the provider, then connects the account.
   * @param report called with the settings that the provider does not have, before it is asked
   * @throws errors of `report`
   * @throws {TooManyFailuresError}
   * @throws errors of `CredentialCheck.verify` and `connect`; nothing is stored then
   */
  async authenticate(
    applicationId: string,
    credentials: AccountCredentials,
    options: ConnectOptions,
    report: ReportUnknown,
  ): Promise<Connection> {
    const native = this.connectors.native(credentials.provider, credentials.settings);
    const { provider } = native;
    assertRegistrable(this.connectors, provider);
    if (!this.connectors.has(provider)) throw new UnconnectableProviderError([provider]);
    if (options.integrationRequired) {
      const known = await this.em
        .fork()
        .count(Integration, { application: applicationId, provider });
      if (known === 0) throw new IntegrationRequiredError(provider);
    }
    report(this.credentials.ignoredSettings({ ...credentials, ...native }));
    const names = [credentials.email];
    const verified = await this.failures.run({ applicationId, client: null, names }, () =>
      this.credentials.verify(applicationId, { ...credentials, ...native, scope: options.scope }),
    );
    return this.connect(applicationId, verified, options);
  }

  /**
   * Creates a grant. If a grant with the same provider, address and mailbox exists, it is
   * authenticated again: it keeps its id, becomes valid and is no longer cancelled. The same
   * address at other servers or with another login is another account (ADR 0056).
   * @throws {ApplicationSuspendedError}
   * @throws {QuickstartLimitError} for a second account of a quickstart application
   * @throws {IntegrationRequiredError}
   * @throws {ReauthenticationMismatchError}
   */
  async connect(
    applicationId: string,
    credentials: VerifiedCredentials,
    options: ConnectOptions,
  ): Promise<Connection> {
    return this.em.transactional((em) =>
      this.connectWithin(em, applicationId, credentials, options),
    );
  }

  /** Same as `connect`, in the caller's transaction. */
  async connectWithin(
    em: EntityManager,
    applicationId: string,
    credentials: VerifiedCredentials,
    options: ConnectOptions,
  ): Promise<Connection> {
    const sql = sqlOf(em);
    const application = await lockApplication(sql, applicationId);
    const { plan, allowedScopes, suspended } = application;
    if (suspended) throw new ApplicationSuspendedError();
    const { provider } = credentials;
    const integration = await em.findOne(
      Integration,
      { application: applicationId, provider },
      { lockMode: LockMode.PESSIMISTIC_READ, refresh: true },
    );
    if (!integration && options.integrationRequired) throw new IntegrationRequiredError(provider);
    const connector = this.connectors.require(provider);
    const hasMail = connector.mail !== undefined;
    const scope = offeredScopes(connector, options.scope);
    assertAllowedScopes(allowedScopes, options.scope);
    const { known, moved } = await this.#find(
      em,
      applicationId,
      credentials,
      options.reauthAccountId,
    );
    if (
      !known &&
      plan === 'quickstart' &&
      (await em.count(Grant, { application: applicationId })) > 0
    ) {
      throw new QuickstartLimitError();
    }
    // Lock the queue row before the grant. Code that stores the result of a sync pass locks in the
    // same order.
    if (known && hasMail) await scheduleSync(sql, known.id);
    if (known && moved) {
      const account = { applicationId, accountId: known.id, at: this.clock.now() };
      await emptyForMailbox(sql, this.listeners, account);
    }
    const grant = known
      ? await lockGrant(em, known)
      : this.#newGrant(em, applicationId, credentials);
    this.#apply(grant, credentials, integration, { ...options, scope, allowedScopes });
    const reproved = storeMailbox(this.secretBox, grant, connector, credentials, grant.updatedAt);
    const account = { applicationId, accountId: grant.id, at: grant.updatedAt };
    if (known) await this.listeners.reconnected(sql, account);
    const { revokeOtherTokens = application.revokesOlderTokens } = options;
    if (known && revokeOtherTokens) await this.tokens.revokeOlder(sql, known.id);
    if (known) await this.tokens.makeRoom(sql, known.id);
    const lifetimeSeconds = application.tokenLifetime;
    const {
      id: tokenId,
      token: accessToken,
      expiresAt,
    } = this.tokens.issue(em, grant, { lifetimeSeconds });
    await em.flush();
    await recordAccountAudit(sql, {
      action: known ? 'account.reconnect' : 'account.connect',
      applicationId,
      accountId: grant.id,
      details: { email: grant.email, provider, accessToken: tokenId },
    });
    if (!known && hasMail) await scheduleSync(sql, grant.id);
    if (!known)
      await this.listeners.connected(sql, {
        ...account,
        provider,
        email: grant.email,
        name: grant.name,
      });
    await moveGrants(sql, [connectedMove(grant.id, known !== null, moved)], grant.updatedAt);
    if (known && reproved) await notifyProofChange(sql, grant, applicationId);
    return { grant: await em.refreshOrFail(grant), accessToken, expiresAt };
  }

  /**
   * Finds the grant that these credentials authenticate. Servers that a user has typed never lead
   * to an account with another mailbox. The one exception is an account named by `reauthAccountId`,
   * if both mailboxes are proven to belong to the address.
   * @throws {SubjectMismatchError}
   * @throws {ReauthenticationMismatchError}
   */
  async #find(
    em: EntityManager,
    applicationId: string,
    credentials: VerifiedCredentials,
    reauthAccountId: string | undefined,
  ): Promise<{ known: Grant | null; moved: boolean }> {
    const { provider, email, proof } = credentials;
    const connector = this.connectors.require(provider);
    const mailbox = mailboxOf(connector, credentials);
    const known = await findAccount(em, this.secretBox, {
      applicationId,
      connector,
      email,
      mailbox,
      subject: credentials.subject ?? null,
    });
    if (!reauthAccountId || reauthAccountId === known?.id) return { known, moved: false };
    const where = { id: reauthAccountId, application: applicationId, provider, email };
    const named = known ? null : await em.findOne(Grant, where);
    if (!named) {
      throw new ReauthenticationMismatchError(
        `reauth_account_id: ${email} with these servers and this login is not this account`,
      );
    }
    if (!named.proof || !proof) {
      throw new ReauthenticationMismatchError(
        `reauth_account_id: this account is at other mail servers or has another login, and ${named.proof ? 'nothing proves that these' : 'nothing has proved that those'} belong to ${email}. Sign in to the previous servers, or let the application change the account with PATCH /connect/grants/{id}`,
      );
    }
    return { known: named, moved: true };
  }

  #newGrant(
    em: EntityManager,
    applicationId: string,
    { provider, email }: VerifiedCredentials,
  ): Grant {
    const now = this.clock.now();
    return em.create(Grant, {
      id: newId(),
      application: em.getReference(Application, applicationId),
      provider,
      email,
      name: '',
      status: 'valid',
      syncState: 'initializing',
      organizationUnit: 'folder',
      billingState: 'paid',
      metadata: {},
      settingsSealed: '',
      tokenVersion: 0,
      linkedAt: now,
      createdAt: now,
      updatedAt: now,
    });
  }

  #apply(
    grant: Grant,
    { name, organizationUnit, covered }: VerifiedCredentials,
    integration: Integration | null,
    options: ConnectOptions & Pick<LockedApplication, 'allowedScopes'>,
  ): void {
    grant.integration = integration && ref(integration);
    grant.name = name;
    grant.organizationUnit = organizationUnit;
    grant.billingState = 'paid';
    if (options.scope !== undefined) grant.scope = options.scope && [...options.scope];
    // A user who authenticates agrees to the scopes that are requested at that time.
    const { agreed = (grant.scope ?? integration?.scope ?? null) as Scope[] | null } = options;
    grant.grantedScope = grantableScopes(options.allowedScopes, restrict(agreed, covered ?? null));
    if (options.metadata) grant.metadata = options.metadata;
    grant.state = options.state ?? grant.state;
    grant.userAgent = options.userAgent?.slice(0, MOST_USER_AGENT) ?? grant.userAgent;
    grant.ip = options.ip ?? grant.ip;
    grant.updatedAt = this.clock.now();
  }
}

/**
 * A new account runs at once; its first sync pass reports how much is mirrored. An account with
 * another mailbox starts from an empty mirror.
 */
function connectedMove(accountId: string, known: boolean, moved: boolean): GrantStateChange {
  const connected = { accountId, status: 'valid', reason: null } as const;
  if (!known) return { ...connected, connected: 'create', syncState: 'running' };
  return { ...connected, connected: 'modify', ...(moved ? { syncState: 'downloading' } : {}) };
}

async function lockGrant(em: EntityManager, { id }: Grant): Promise<Grant> {
  await sqlOf(em).query('select from "grant" where id = $1 for no key update', [id]);
  return em.findOneOrFail(Grant, { id }, { refresh: true });
}
