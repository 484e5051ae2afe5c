import { Injectable } from '@nestjs/common';
import { EntityManager } from '@mikro-orm/postgresql';
import { NotFoundError } from '../../platform/base/errors/domain-error.ts';
import type { Page } from '../../platform/database/listing.ts';
import { isId } from '../../platform/base/ids/ids.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { Conditions } from '../../platform/database/conditions.ts';
import {
  addMetadataCondition,
  type MetadataFilter,
} from '../../platform/database/metadata-filter.ts';
import { sqlOf } from '../../platform/database/orm-transactions.ts';
import { Database, type Sql } from '../../platform/database/sql.ts';
import { AccessTokensService, type TokenInfo } from '../grants/tokens/access-tokens.service.ts';
import { lockApplication } from '../grants/application-lock.ts';
import { Grant } from '../grants/grant.entity.ts';
import { type GrantStateChange, moveGrants, setBilling } from '../grants/moves/grant-moves.ts';
import { ACCOUNT_PAUSE, type AccountPause } from '../grants/provider-accounts.ts';
import { recordAccountAudit } from '../grants/record-account-audit.ts';
import { GrantsService } from '../grants/grants.service.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import { endSubscriptions } from '../push/end-subscriptions.ts';
import { type AuditResult, auditResultOf } from '../sync-schedule/mirror-audits.ts';
import { scheduleSync, unscheduleSync } from '../sync-schedule/schedule-sync.ts';

export type ApplicationAccount = Pick<
  Grant,
  'id' | 'email' | 'provider' | 'proof' | 'syncState' | 'billingState' | 'metadata'
> & {
  /** Whether it signed in by OAuth. */
  byOauth: boolean;
  /** `null` before the first audit of the whole mailbox is complete. */
  mirror: AuditResult | null;
  /** Set while an operator has paused sending. */
  pause: AccountPause | null;
};

const COLUMNS = `g.id, g.email, g.provider, g.proof, g.sync_state as "syncState", g.billing_state as "billingState", g.metadata,
  g.tokens_sealed is not null as "byOauth", ${auditResultOf('g.id')} as mirror,
  ${ACCOUNT_PAUSE} as pause`;

/** Reason of a cancelled account for being `stopped`. */
const CANCELLED = 'The account has been cancelled';

/**
 * Accounts as their application manages them. Every method throws NotFoundError for accounts of
 * other applications.
 */
@Injectable()
export class ApplicationAccountsService {
  constructor(
    private readonly em: EntityManager,
    private readonly database: Database,
    private readonly grants: GrantsService,
    private readonly tokens: AccessTokensService,
    private readonly connectors: ConnectorRegistry,
    private readonly clock: Clock,
  ) {}

  /** Accounts of the application, oldest first. */
  list(
    applicationId: string,
    page: Page,
    metadata?: MetadataFilter,
  ): Promise<ApplicationAccount[]> {
    const where = new Conditions();
    where.add(`g.application_id = ${where.value(applicationId)}`);
    if (metadata) addMetadataCondition(where, 'g.metadata', metadata);
    const paging = `limit ${where.value(page.limit)} offset ${where.value(page.offset)}`;
    return this.database.query<ApplicationAccount>(
      `select ${COLUMNS} from "grant" g where ${where.text} order by g.id ${paging}`,
      where.values,
    );
  }

  async get(applicationId: string, accountId: string): Promise<ApplicationAccount> {
    return find(this.database, applicationId, accountId);
  }

  /** @param metadata replaces all metadata; `undefined` changes nothing */
  async setMetadata(
    applicationId: string,
    accountId: string,
    metadata: Record<string, string> | undefined,
  ): Promise<ApplicationAccount> {
    const account = await find(this.database, applicationId, accountId);
    if (metadata === undefined) return account;
    await this.grants.update(applicationId, accountId, { metadata });
    return find(this.database, applicationId, accountId);
  }

  /** Disconnects an account: see `GrantsService.remove`. */
  async remove(applicationId: string, accountId: string): Promise<void> {
    await find(this.database, applicationId, accountId);
    await this.grants.remove(applicationId, accountId);
  }

  /** Reactivates a cancelled account. Does nothing if the account is not cancelled. */
  async upgrade(applicationId: string, accountId: string): Promise<ApplicationAccount> {
    return this.#changeBilling(applicationId, accountId, 'paid', async (sql, { provider }) => {
      if (this.connectors.require(provider).mail) await scheduleSync(sql, accountId);
      return { syncState: 'running', reason: null };
    });
  }

  /**
   * Cancels an account. Its data stays, its mailbox is no longer synced, and its tokens are refused
   * with 403 until it is upgraded.
   */
  async downgrade(applicationId: string, accountId: string): Promise<ApplicationAccount> {
    return this.#changeBilling(applicationId, accountId, 'cancelled', async (sql) => {
      await unscheduleSync(sql, accountId);
      await endSubscriptions(sql, accountId, this.clock.now());
      return { syncState: 'stopped', reason: CANCELLED };
    });
  }

  /** @param keep the only token that keeps working */
  async revokeAll(applicationId: string, accountId: string, keep?: string): Promise<void> {
    await find(this.database, applicationId, accountId);
    await this.tokens.revokeAll(applicationId, accountId, keep);
  }

  /**
   * @throws {NotFoundError} also for a token of another account; the message does not contain the
   *   token
   */
  async tokenInfo(applicationId: string, accountId: string, token: string): Promise<TokenInfo> {
    await find(this.database, applicationId, accountId);
    const info = await this.tokens.info(applicationId, accountId, token);
    if (!info) throw new NotFoundError('access token', `of account ${accountId}`);
    return info;
  }

  async #changeBilling(
    applicationId: string,
    accountId: string,
    billingState: Grant['billingState'],
    change: (
      sql: Sql,
      account: ApplicationAccount,
    ) => Promise<Pick<GrantStateChange, 'syncState' | 'reason'>>,
  ): Promise<ApplicationAccount> {
    return this.em.transactional(async (em) => {
      const sql = sqlOf(em);
      await lockApplication(sql, applicationId);
      const account = await find(sql, applicationId, accountId);
      if (account.billingState === billingState) return account;
      // Lock the queue row before the grant. Code that stores the result of a sync pass locks in
      // the same order.
      const move = await change(sql, account);
      const now = this.clock.now();
      await setBilling(sql, accountId, billingState, now);
      await moveGrants(sql, [{ accountId, ...move }], now);
      const action = billingState === 'cancelled' ? 'account.cancel' : 'account.reactivate';
      await recordAccountAudit(sql, { action, applicationId, accountId });
      return find(sql, applicationId, accountId);
    });
  }
}

async function find(
  sql: Sql,
  applicationId: string,
  accountId: string,
): Promise<ApplicationAccount> {
  const [account] = isId(accountId)
    ? await sql.query<ApplicationAccount>(
        `select ${COLUMNS} from "grant" g where g.id = $1 and g.application_id = $2`,
        [accountId, applicationId],
      )
    : [];
  if (!account) throw new NotFoundError('account', accountId);
  return account;
}
