import { Injectable } from '@nestjs/common';
import { LockMode } from '@mikro-orm/core';
import { EntityManager, type FilterQuery } from '@mikro-orm/postgresql';
import { isWithin, type Scope } from '../auth/scopes.ts';
import { SecretBox } from '../common/crypto/secret-box.ts';
import { ForbiddenError, NotFoundError } from '../common/errors/domain-error.ts';
import type { Page } from '../common/http/pagination.schema.ts';
import { isId } from '../common/ids/ids.ts';
import { Clock } from '../common/time/clock.ts';
import { Wake } from '../common/wake.ts';
import { type Sql, sqlOf } from '../database/sql.ts';
import { recordChanges } from '../deltas/change-log.ts';
import { Integration } from '../integrations/integration.entity.ts';
import { ConnectorRegistry } from '../providers/connector-registry.ts';
import { scheduleSync } from '../sync/schedule-sync.ts';
import { accountChange } from './account-change.ts';
import { lockApplication } from './application-lock.ts';
import { CredentialCheck, type VerifiedCredentials } from './credential-check.ts';
import { openGrantSettings, sealGrantSettings } from './grant-secrets.ts';
import { Grant } from './grant.entity.ts';
import { GrantChangedError, ReauthenticationMismatchError } from './grants.errors.ts';
import { markGrantsInvalid } from './mark-invalid.ts';
import { markGrantValid } from './mark-valid.ts';

/** Values of a grant's metadata. */
export type GrantMetadata = Record<string, string | number | boolean>;

/** What can be changed; absent: stays as it is. */
export interface GrantChange {
  /** Merged into the stored ones and verified with the provider: that is a new authentication. */
  settings?: Readonly<Record<string, unknown>>;
  /** Replaces all of it. */
  metadata?: GrantMetadata;
  /** Null: none of its own, the integration's apply. */
  scope?: readonly Scope[] | null;
}

/** Reason of a grant that is invalid only because it asks for more than its user has agreed to. */
const SCOPES_WIDENED = 'The scopes were widened: the user has to authenticate again';

/**
 * Open work of an account, by indexed paths (the queues have none); everything else goes with the grant. Each is a
 * statement of its own, in the order in which the engine locks: queue rows before the grant, and before the gate.
 */
const DELETE_SYNC = 'delete from sync_job where account_id = $1';
const DELETE_JOBS = ['send_job', 'provider_job'].map(
  (table) => `
  delete from ${table} where id in (
    select id from ${table} where id in (select id from job_status where account_id = $1) order by id for update)`,
);
const DELETE_REMINDERS = `
  delete from reminder_job where id in (
    select id from reminder_job where id in (select id from reminder where account_id = $1) order by id for update)`;
const DELETE_QUEUED = [DELETE_SYNC, ...DELETE_JOBS, DELETE_REMINDERS];
const DELETE_GATE = 'delete from account_gate where account_id = $1';

/** Grants of an application: connected accounts. New ones are made by `GrantConnections`. */
@Injectable()
export class GrantsService {
  constructor(
    private readonly em: EntityManager,
    private readonly credentials: CredentialCheck,
    private readonly connectors: ConnectorRegistry,
    private readonly secretBox: SecretBox,
    private readonly clock: Clock,
    private readonly wake: Wake,
  ) {}

  /** Oldest first. @param provider only those of this provider */
  list(applicationId: string, { limit, offset }: Page, provider?: string): Promise<Grant[]> {
    if (limit === 0) return Promise.resolve([]);
    const where: FilterQuery<Grant> = { application: applicationId, ...(provider ? { provider } : {}) };
    return this.em.fork().find(Grant, where, { orderBy: { id: 'asc' }, limit, offset });
  }

  /** @throws {NotFoundError} */
  get(applicationId: string, grantId: string): Promise<Grant> {
    return find(this.em.fork(), applicationId, grantId);
  }

  /**
   * Changes settings, metadata, scopes. Fewer scopes apply at once. More than the user has agreed to make the grant
   * `invalid` until the user authenticates again; until then the old ones stay the limit (spec 3.2).
   * @throws {NotFoundError}
   * @throws {InvalidInputError} when the provider refuses the settings, or they are another account's
   */
  async update(applicationId: string, grantId: string, change: GrantChange): Promise<Grant> {
    const renewal = change.settings && (await this.#verifyRenewal(applicationId, grantId, change.settings));
    const { grant, hooks } = await this.em.transactional(async (em) => {
      const sql = sqlOf(em);
      // The queue row before the grant's: the order of everything that settles a sync.
      if (renewal) {
        // A removal in between would leave nothing to schedule for.
        await lockApplication(sql, applicationId);
        await find(em, applicationId, grantId);
        await this.#scheduleSync(sql, renewal.credentials.provider, grantId);
      }
      const grant = await lock(em, applicationId, grantId);
      if (change.metadata) grant.metadata = change.metadata;
      if (change.scope !== undefined) grant.scope = change.scope && [...change.scope];
      const asked = await askedScopes(em, grant);
      if (renewal) {
        if (grant.settingsSealed !== renewal.replaces) throw new GrantChangedError();
        grant.settingsSealed = sealGrantSettings(this.secretBox, grantId, renewal.credentials.settings);
        grant.grantedScope = asked;
      }
      grant.updatedAt = this.clock.now();
      await em.flush();
      const hooks = await this.#settleStatus(sql, grant, asked, {
        authenticated: renewal !== undefined,
        scopesChanged: change.scope !== undefined,
      });
      return { grant: await em.refreshOrFail(grant), hooks };
    });
    if (renewal) this.wake.wake('sync');
    if (hooks) this.wake.wake('hook');
    return grant;
  }

  /**
   * Disconnects an account: its tokens are refused, its mirror and its open work are gone. Nothing happens at the
   * provider.
   * @throws {NotFoundError}
   */
  async remove(applicationId: string, grantId: string): Promise<void> {
    const hooks = await this.em.transactional(async (em) => {
      const sql = sqlOf(em);
      await lockApplication(sql, applicationId);
      await find(em, applicationId, grantId);
      for (const text of DELETE_QUEUED) await sql.query(text, [grantId]);
      await sql.query('select from "grant" where id = $1 for update', [grantId]);
      // Nobody can add work for the account any more; what came in between goes too.
      for (const text of [...DELETE_QUEUED, DELETE_GATE]) await sql.query(text, [grantId]);
      const gone = await em.nativeDelete(Grant, { id: grantId, application: applicationId });
      if (gone === 0) throw new NotFoundError('grant', grantId);
      const account = { applicationId, accountId: grantId };
      return recordChanges(sql, [accountChange(account, 'delete', 'account.stopped', this.clock.now())]);
    });
    if (hooks) this.wake.wake('hook');
  }

  /**
   * Has the account's mailbox looked at now instead of at its next turn. An account without a mailbox, or a
   * cancelled one, has no turn.
   * @throws {NotFoundError}
   */
  async requestSync(applicationId: string, grantId: string): Promise<Grant> {
    const grant = await this.em.transactional(async (em) => {
      const sql = sqlOf(em);
      await lockApplication(sql, applicationId);
      const grant = await find(em, applicationId, grantId);
      if (grant.billingState === 'paid') await this.#scheduleSync(sql, grant.provider, grantId);
      return grant;
    });
    this.wake.wake('sync');
    return grant;
  }

  async #scheduleSync(sql: Sql, provider: string, grantId: string): Promise<void> {
    if (this.connectors.require(provider).mail) await scheduleSync(sql, grantId);
  }

  /** Asks the provider whether the grant's settings, changed by `settings`, belong to the same account. */
  async #verifyRenewal(
    applicationId: string,
    grantId: string,
    settings: Readonly<Record<string, unknown>>,
  ): Promise<{ credentials: VerifiedCredentials; replaces: string }> {
    const grant = await this.get(applicationId, grantId);
    if (grant.billingState === 'cancelled') {
      throw new ForbiddenError('account.cancelled', 'This account has been cancelled: upgrade it first.');
    }
    const credentials = await this.credentials.verify(applicationId, {
      provider: grant.provider,
      email: grant.email,
      name: grant.name,
      settings: { ...openGrantSettings(this.secretBox, grantId, grant.settingsSealed), ...settings },
    });
    if (credentials.email !== grant.email) {
      throw new ReauthenticationMismatchError(
        `settings: these belong to another account than ${grant.email}`,
      );
    }
    return { credentials, replaces: grant.settingsSealed };
  }

  /** @returns whether webhook deliveries were queued */
  async #settleStatus(
    sql: Sql,
    grant: Grant,
    asked: Scope[] | null,
    { authenticated, scopesChanged }: { authenticated: boolean; scopesChanged: boolean },
  ): Promise<boolean> {
    const now = this.clock.now();
    if (authenticated) return markGrantValid(sql, grant.id, now);
    if (!scopesChanged) return false;
    if (!isWithin(asked, grant.grantedScope as Scope[] | null)) {
      return markGrantsInvalid(sql, [{ accountId: grant.id, reason: SCOPES_WIDENED }], now);
    }
    return grant.statusReason === SCOPES_WIDENED ? markGrantValid(sql, grant.id, now) : false;
  }
}

async function find(em: EntityManager, applicationId: string, grantId: string): Promise<Grant> {
  const grant = isId(grantId)
    ? await em.findOne(Grant, { id: grantId, application: applicationId }, { refresh: true })
    : null;
  if (!grant) throw new NotFoundError('grant', grantId);
  return grant;
}

/** Locks against other writers, not against rows that refer to the grant. */
async function lock(em: EntityManager, applicationId: string, grantId: string): Promise<Grant> {
  if (isId(grantId)) {
    await sqlOf(em).query('select from "grant" where id = $1 and application_id = $2 for no key update', [
      grantId,
      applicationId,
    ]);
  }
  return find(em, applicationId, grantId);
}

/** The grant's own scopes, else its integration's; null: all. */
async function askedScopes(em: EntityManager, grant: Grant): Promise<Scope[] | null> {
  if (grant.scope) return grant.scope as Scope[];
  const integration = grant.integration
    ? await em.findOne(Integration, { id: grant.integration.id }, { lockMode: LockMode.PESSIMISTIC_READ })
    : null;
  return (integration?.scope ?? null) as Scope[] | null;
}
