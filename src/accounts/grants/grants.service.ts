import { Injectable } from '@nestjs/common';
import { LockMode } from '@mikro-orm/core';
import { EntityManager } from '@mikro-orm/postgresql';
import { isWithin, restrict, type Scope } from '../../platform/auth/scopes.ts';
import { changedFields } from '../../platform/audit/record-audit.ts';
import { recordAccountAudit } from './record-account-audit.ts';
import { SecretBox } from '../../platform/base/crypto/secret-box.ts';
import {
  ForbiddenError,
  InvalidInputError,
  NotFoundError,
} from '../../platform/base/errors/domain-error.ts';
import { forgetRateGate } from '../../platform/work/gates/rate-gates.ts';
import type { Page } from '../../platform/database/listing.ts';
import { isId } from '../../platform/base/ids/ids.ts';
import { isEmptyChange } from '../../platform/base/empty-change.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { sqlOf } from '../../platform/database/orm-transactions.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { recordChanges } from '../../platform/changes/change-log.ts';
import { Integration } from '../integrations/integration.entity.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import { scheduleSync, unscheduleSync } from '../sync-schedule/schedule-sync.ts';
import { accountChange, grantChange } from './account-change.ts';
import { AccountListeners } from './account-listeners.ts';
import { notifyProofChange } from './proofs/address-proof-state.ts';
import { lockApplication } from './application-lock.ts';
import { CredentialCheck } from './credentials/credential-check.ts';
import type { VerifiedCredentials } from './credentials/credentials.ts';
import { moveGrants } from './moves/grant-moves.ts';
import { type GrantFilter, listGrants } from './list-grants.ts';
import { openGrantSettings } from './credentials/grant-secrets.ts';
import { findAccount, mailboxOf, storeMailbox } from './moves/mailbox-match.ts';
import { emptyForMailbox } from './moves/mailbox-move.ts';
import { Grant } from './grant.entity.ts';
import { OauthCredentials } from './credentials/oauth-credentials.ts';
import { assertEffective } from './credentials/settings-change.ts';
import { isRepeated, shownSettings } from './credentials/shown-settings.ts';
import {
  assertAllowedScopes,
  grantableScopes,
  offeredScopes,
} from './credentials/offered-scopes.ts';
import {
  GrantChangedError,
  MailboxTakenError,
  ReauthenticationMismatchError,
} from './grants.errors.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

export type GrantMetadata = Record<string, string | number | boolean>;

/** The fields of a grant that can be changed. Absent fields stay as they are. */
export interface GrantChange {
  /**
   * Merged into the stored settings and verified with the provider. With credentials among them,
   * the change counts as a new authentication.
   */
  settings?: Readonly<Record<string, unknown>>;
  /** Replaces all metadata. */
  metadata?: GrantMetadata;
  /** `null` if the grant has no scopes of its own and uses those of the integration. */
  scope?: readonly Scope[] | null;
}

/**
 * Reason of a grant that is invalid only because its scopes exceed those its user has agreed to.
 * Stored in the database and compared, so do not change it.
 */
const SCOPES_WIDENED = 'The scopes were widened: the user has to authenticate again';

/**
 * Settings that only the user can have given, beside those of an OAuth sign-in. A change without
 * any of them does not count as the user's consent to new scopes.
 */
const CREDENTIALS = ['password', 'imap_password'] as const;

const LOCK_GRANT = `
  select email, provider, subject, tokens_sealed as "tokensSealed" from "grant" where id = $1 for update`;

/** Grants of an application: its connected accounts. `GrantConnectionsService` creates new ones. */
@Injectable()
export class GrantsService {
  constructor(
    private readonly em: EntityManager,
    private readonly credentials: CredentialCheck,
    private readonly oauth: OauthCredentials,
    private readonly connectors: ConnectorRegistry,
    private readonly listeners: AccountListeners,
    private readonly secretBox: SecretBox,
    private readonly clock: Clock,
  ) {}

  /**
   * Grants of the application that match the filter, oldest first.
   * @throws {InvalidInputError} for the name of an unknown provider
   */
  list(applicationId: string, page: Page, filter: GrantFilter = {}): Promise<Grant[]> {
    const provider = filter.provider && this.connectors.filtered(filter.provider);
    return listGrants(this.em.fork(), applicationId, page, { ...filter, provider });
  }

  /** @throws {NotFoundError} */
  get(applicationId: string, grantId: string): Promise<Grant> {
    return find(this.em.fork(), applicationId, grantId);
  }

  /** The stored settings that are no secrets. */
  shownSettings(grant: Grant): Record<string, unknown> {
    return shownSettings(this.connectors.require(grant.provider), this.secretBox, grant);
  }

  /**
   * Changes settings, metadata and scopes. Fewer scopes apply at once. More scopes than the user
   * has agreed to make the grant `invalid` until the user authenticates again; until then the old
   * scopes stay the limit. Settings that lead to another mailbox move the account to that mailbox:
   * see `emptyForMailbox`.
   * @throws {NotFoundError}
   * @throws {InvalidInputError} if a setting is unknown, the provider refuses the settings, they
   *   belong to another account, or the provider does not have the scopes
   */
  async update(applicationId: string, grantId: string, change: GrantChange): Promise<Grant> {
    if (isEmptyChange(change)) return this.get(applicationId, grantId);
    const renewal =
      change.settings && (await this.#verifyRenewal(applicationId, grantId, change.settings));
    return this.em.transactional(async (em) => {
      const sql = sqlOf(em);
      // Lock the queue row before the grant. Code that stores the result of a sync pass locks in
      // the same order.
      if (renewal) {
        // Without this lock the grant could be removed before its sync is scheduled.
        await lockApplication(sql, applicationId);
        const moved = await this.#isMoved(em, applicationId, grantId, renewal.credentials);
        await this.#scheduleSync(sql, renewal.credentials.provider, grantId);
        if (moved) {
          const account = { applicationId, accountId: grantId, at: this.clock.now() };
          await emptyForMailbox(sql, this.listeners, account);
        }
      }
      const grant = await lock(em, applicationId, grantId);
      if (change.metadata) grant.metadata = change.metadata;
      if (change.scope !== undefined) {
        const scope = offeredScopes(this.connectors.require(grant.provider), change.scope);
        assertAllowedScopes((await grant.application.loadOrFail()).allowedScopes, change.scope);
        grant.scope = scope ? [...scope] : null;
      }
      const scopesChanged = change.scope !== undefined;
      // The scopes a sign-in may grant do not matter for other changes of a connected account.
      const asked = renewal || scopesChanged ? await askedScopes(em, grant) : null;
      if (renewal) {
        if (grant.settingsSealed !== renewal.replaces) throw new GrantChangedError();
        const connector = this.connectors.require(grant.provider);
        const reproved = storeMailbox(
          this.secretBox,
          grant,
          connector,
          renewal.credentials,
          this.clock.now(),
        );
        if (reproved) await notifyProofChange(sql, grant, applicationId);
        const { covered = null } = renewal.credentials;
        if (renewal.byUser) grant.grantedScope = restrict(asked, covered);
      }
      grant.updatedAt = this.clock.now();
      await em.flush();
      await recordAccountAudit(sql, {
        action: 'account.update',
        applicationId,
        accountId: grantId,
        details: { changed: changedFields(change), settings: changedFields(change.settings ?? {}) },
      });
      const { provider, updatedAt: at } = grant;
      const account = { applicationId, accountId: grantId, provider, at };
      const reauthenticated = renewal?.byUser === true;
      await recordChanges(sql, [grantChange(account, 'grant.updated', { reauthenticated })]);
      await this.#settleStatus(sql, grant, asked, {
        verified: renewal !== undefined,
        scopesChanged,
      });
      return em.refreshOrFail(grant);
    });
  }

  /**
   * Disconnects an account: deletes its tokens, mirror and open work. Nothing changes at the
   * provider, except that the tokens of an account that signed in by OAuth are revoked if the
   * issuer supports revocation.
   * @throws {NotFoundError}
   */
  async remove(applicationId: string, grantId: string): Promise<void> {
    const farewell = await this.#removed(applicationId, grantId);
    void farewell();
  }

  /**
   * Same as `remove`, and waits until the account's subscriptions at the provider are ended and its
   * tokens are revoked. A provider that does not answer takes some seconds.
   * @throws {NotFoundError}
   */
  async removeAndWait(applicationId: string, grantId: string): Promise<void> {
    const farewell = await this.#removed(applicationId, grantId);
    await farewell();
  }

  /** @returns what is left to do at the provider; it does not reject */
  async #removed(applicationId: string, grantId: string): Promise<() => Promise<void>> {
    const farewell = isId(grantId) ? await this.listeners.leaving(grantId) : null;
    const { provider, subject, tokensSealed } = await this.em.transactional(async (em) => {
      const sql = sqlOf(em);
      await lockApplication(sql, applicationId);
      await find(em, applicationId, grantId);
      // Lock in the order of the dispatchers: queue rows first, then the grant, then the rate gate.
      await this.#deleteWork(sql, grantId);
      const [row] = await sql.query<
        RowOf<Grant, 'email' | 'provider' | 'subject' | 'tokensSealed'>
      >(LOCK_GRANT, [grantId]);
      // The row lock on the grant keeps other transactions from adding work. Delete the work that
      // was added before the lock.
      await this.#deleteWork(sql, grantId);
      await forgetRateGate(sql, grantId);
      const deleted = await em.nativeDelete(Grant, { id: grantId, application: applicationId });
      if (deleted === 0 || !row) throw new NotFoundError('grant', grantId);
      const { provider } = row;
      const account = { applicationId, accountId: grantId, provider, at: this.clock.now() };
      await this.listeners.removed(sql, account);
      const state = { reason: 'the account was deleted', sign_in_url: null };
      await recordChanges(sql, [
        accountChange(account, 'delete', 'account.stopped', state),
        grantChange(account, 'grant.deleted'),
      ]);
      await recordAccountAudit(sql, {
        action: 'account.delete',
        applicationId,
        accountId: grantId,
        details: { email: row.email, provider: row.provider },
      });
      return row;
    });
    return async () => {
      await farewell?.();
      if (tokensSealed !== null)
        await this.oauth.forget({ applicationId, grantId, provider, subject, tokensSealed });
    };
  }

  async #deleteWork(sql: Sql, grantId: string): Promise<void> {
    await unscheduleSync(sql, grantId);
    await this.listeners.endWork(sql, grantId, 'removed');
  }

  /**
   * Schedules a sync pass of the account's mailbox now. Does nothing for a cancelled account or one
   * without a mailbox.
   * @throws {NotFoundError}
   */
  async requestSync(applicationId: string, grantId: string): Promise<Grant> {
    return this.em.transactional(async (em) => {
      const sql = sqlOf(em);
      await lockApplication(sql, applicationId);
      const grant = await find(em, applicationId, grantId);
      if (grant.billingState === 'paid') await this.#scheduleSync(sql, grant.provider, grantId);
      return grant;
    });
  }

  /**
   * Whether the credentials lead to another mailbox than the grant's.
   * @throws {MailboxTakenError} if that mailbox is connected as another account of the
   *   application
   */
  async #isMoved(
    em: EntityManager,
    applicationId: string,
    grantId: string,
    credentials: VerifiedCredentials,
  ): Promise<boolean> {
    const { provider, email } = credentials;
    await find(em, applicationId, grantId);
    const connector = this.connectors.require(provider);
    const mailbox = mailboxOf(connector, credentials);
    const holder = await findAccount(em, this.secretBox, {
      applicationId,
      connector,
      email,
      mailbox,
      subject: credentials.subject ?? null,
    });
    if (holder && holder.id !== grantId) throw new MailboxTakenError(holder.id);
    return holder === null;
  }

  async #scheduleSync(sql: Sql, provider: string, grantId: string): Promise<void> {
    if (this.connectors.require(provider).mail) await scheduleSync(sql, grantId);
  }

  /**
   * Verifies the grant's settings, merged with `settings`, with the provider. They must belong to
   * the same account.
   * @returns `undefined` if there is nothing to verify
   * @throws {ReauthenticationMismatchError} if they belong to another address
   */
  async #verifyRenewal(
    applicationId: string,
    grantId: string,
    settings: Readonly<Record<string, unknown>>,
  ): Promise<{ credentials: VerifiedCredentials; replaces: string; byUser: boolean } | undefined> {
    const grant = await this.get(applicationId, grantId);
    if (isRepeated(grant, this.shownSettings(grant), settings)) return undefined;
    if (grant.billingState === 'cancelled') {
      throw new ForbiddenError(
        'account.cancelled',
        'This account has been cancelled: upgrade it first.',
      );
    }
    const connector = this.connectors.require(grant.provider);
    assertEffective(settings, grant, connector, this.shownSettings(grant));
    const credentials = await this.credentials.verify(applicationId, {
      provider: grant.provider,
      email: grant.email,
      name: grant.name,
      settings: this.#renewedSettings(grant, settings),
      scope: grant.scope === null ? undefined : (grant.scope as Scope[]),
    });
    const isSameUser = Boolean(grant.subject) && credentials.subject === grant.subject;
    if (credentials.email !== grant.email && !isSameUser) {
      throw new ReauthenticationMismatchError(
        `settings: these belong to another account than ${grant.email}`,
      );
    }
    const byUser = [...CREDENTIALS, ...this.#signInSettings(grant)].some(
      (name) => (settings[name] ?? '') !== '',
    );
    return { credentials, replaces: grant.settingsSealed, byUser };
  }

  #renewedSettings(
    grant: Grant,
    change: Readonly<Record<string, unknown>>,
  ): Readonly<Record<string, unknown>> {
    // An account that signs in by OAuth has its settings from the sign-in, so there are none of its
    // own to keep.
    if (this.#signInSettings(grant).some((name) => change[name] !== undefined)) return change;
    if (grant.tokensSealed !== null) {
      throw new InvalidInputError(
        'settings.refresh_token is required: this account has signed in by OAuth',
        {
          missingFields: ['settings.refresh_token'],
        },
      );
    }
    const stored = openGrantSettings(this.secretBox, grant.id, grant.settingsSealed);
    return this.credentials.merged(grant.provider, stored, change);
  }

  #signInSettings({ provider }: Grant): readonly string[] {
    return this.connectors.require(provider).oauth?.signInSettings ?? [];
  }

  /**
   * Makes the grant invalid if its scopes now exceed the user's consent, and valid if the reason
   * for being invalid is resolved.
   */
  async #settleStatus(
    sql: Sql,
    grant: Grant,
    asked: Scope[] | null,
    { verified, scopesChanged }: { verified: boolean; scopesChanged: boolean },
  ): Promise<void> {
    const now = this.clock.now();
    const move = (status: Grant['status'], reason: string | null) =>
      moveGrants(sql, [{ accountId: grant.id, status, reason }], now);
    if (!verified && !scopesChanged) return;
    const isWidened = !isWithin(asked, grant.grantedScope as Scope[] | null);
    if (scopesChanged && isWidened) return move('invalid', SCOPES_WIDENED);
    const isMended = grant.statusReason === SCOPES_WIDENED ? !isWidened : verified;
    if (isMended) await move('valid', null);
  }
}

async function find(em: EntityManager, applicationId: string, grantId: string): Promise<Grant> {
  const grant = isId(grantId)
    ? await em.findOne(Grant, { id: grantId, application: applicationId }, { refresh: true })
    : null;
  if (!grant) throw new NotFoundError('grant', grantId);
  return grant;
}

/** Locks the grant against other writers. Inserts of rows that refer to the grant do not wait. */
async function lock(em: EntityManager, applicationId: string, grantId: string): Promise<Grant> {
  if (isId(grantId)) {
    await sqlOf(em).query(
      'select from "grant" where id = $1 and application_id = $2 for no key update',
      [grantId, applicationId],
    );
  }
  return find(em, applicationId, grantId);
}

/**
 * The grant's own scopes, else those of its integration, limited to the scopes that its application
 * lets a sign-in grant. `null` for every scope.
 */
async function askedScopes(em: EntityManager, grant: Grant): Promise<Scope[] | null> {
  const { allowedScopes } = await grant.application.loadOrFail();
  if (grant.scope) return grantableScopes(allowedScopes, grant.scope);
  const integration = grant.integration
    ? await em.findOne(
        Integration,
        { id: grant.integration.id },
        { lockMode: LockMode.PESSIMISTIC_READ },
      )
    : null;
  return grantableScopes(allowedScopes, integration?.scope);
}
