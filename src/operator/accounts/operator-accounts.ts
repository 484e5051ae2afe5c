import type { Actor } from '../../platform/audit/actor.ts';
import { recordAudit } from '../../platform/audit/record-audit.ts';
import { NotFoundError } from '../../platform/base/errors/domain-error.ts';
import { isId } from '../../platform/base/ids/ids.ts';
import type { Clock } from '../../platform/base/time/clock.ts';
import {
  itemsOf,
  pageOf,
  type PageOf,
  pageToken,
  readPageToken,
  type TokenPage,
} from '../../platform/database/page-token.ts';
import type { Database } from '../../platform/database/sql.ts';
import { setSendingPause } from '../../accounts/grants/sending-pauses.ts';
import type { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import { resumePausedSends } from '../../mail/outbox/steer/sending-pause.ts';
import { listWatches } from '../../sync/watches/list-watches.ts';
import type { AccountDetail, AccountFilter, AccountItem } from './account-health.ts';
import { countBriefly } from '../search/search-limit.ts';
import {
  readAudit,
  readErrors,
  readFacts,
  readQuotas,
  readWaiting,
} from './account-detail.repository.ts';
import {
  countAccounts,
  itemsOfAccount,
  listAccounts,
  positionAfter,
} from './account-list.repository.ts';

const MOST_WATCHES = 200;

/** Accounts of all applications, for operators: for the HTTP API, the commands and the console. */
export class OperatorAccounts {
  /**
   * @param connectors know the names of providers. Commands that filter by none pass `null`,
   *   because loading the connectors takes a second
   */
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly connectors: Pick<ConnectorRegistry, 'filtered'> | null,
  ) {}

  /**
   * Accounts by health, worst first.
   * @throws {InvalidInputError} if the page token is not one of this list, or for the name of an
   *   unknown provider
   */
  async list(filter: AccountFilter, page: TokenPage): Promise<PageOf<AccountItem>> {
    const items = itemsOf(page);
    const [rank, id] = readPageToken(page.pageToken, ['number', 'id']) ?? [];
    const after = isId(String(id)) ? { rank: Number(rank), id: String(id) } : null;
    const rows = await listAccounts(this.database, this.#stored(filter), after, items + 1);
    return pageOf(rows, items, (last) => {
      const position = positionAfter(last);
      return pageToken(position.rank, position.id);
    });
  }

  /** How many accounts a list has, counted up to `MOST_COUNTED`; `null` if that takes too long. */
  count(filter: AccountFilter): Promise<number | null> {
    return countBriefly(this.database, (sql, most) =>
      countAccounts(sql, this.#stored(filter), most),
    );
  }

  /** The filter with the name of the provider that the database has. */
  #stored(filter: AccountFilter): AccountFilter {
    const { provider } = filter;
    return { ...filter, provider: provider && (this.connectors?.filtered(provider) ?? provider) };
  }

  /** @throws {NotFoundError} */
  async get(accountId: string): Promise<AccountDetail> {
    if (!isId(accountId)) throw new NotFoundError('account', accountId);
    const { database } = this;
    const [items, facts, messages, audit, quotas, watches, errors] = await Promise.all([
      itemsOfAccount(database, accountId),
      readFacts(database, accountId),
      readWaiting(database, accountId),
      readAudit(database, accountId),
      readQuotas(database, accountId),
      listWatches(database, this.clock.now(), MOST_WATCHES, accountId),
      readErrors(database, accountId),
    ]);
    const [item] = items;
    if (!item || !facts) throw new NotFoundError('account', accountId);
    const { syncState: state, currentSince, syncLagSeconds: lagSeconds } = item;
    const problems = items.flatMap(({ health, reason }) =>
      health === 'healthy' ? [] : [{ health, reason }],
    );
    const sync = { ...facts.sync, state, currentSince, lagSeconds };
    return { ...item, ...facts, sync, problems, audit, messages, watches, quotas, errors };
  }

  /**
   * Pauses the sending of an account: its messages and its reminders by email wait, and direct
   * sends are refused. Messages that are being handed over are still sent. Pausing again changes
   * the reason.
   * @param reason shown to the account's users; `null` for none
   * @throws {NotFoundError}
   */
  pauseSending(actor: Actor, accountId: string, reason: string | null): Promise<AccountDetail> {
    return this.#hold(actor, accountId, { at: this.clock.now(), reason });
  }

  /**
   * Resumes the sending of an account: what became due meanwhile is sent now, except messages
   * whose deadline has passed. A pause of its application still lasts.
   * @throws {NotFoundError}
   */
  async resumeSending(actor: Actor, accountId: string): Promise<AccountDetail> {
    await this.#hold(actor, accountId, null);
    await resumePausedSends(this.database, { accountId });
    return this.get(accountId);
  }

  async #hold(
    actor: Actor,
    accountId: string,
    hold: { at: Date; reason: string | null } | null,
  ): Promise<AccountDetail> {
    if (!isId(accountId)) throw new NotFoundError('account', accountId);
    await this.database.transaction(async (sql) => {
      const held = await setSendingPause(sql, accountId, hold);
      if (!held) throw new NotFoundError('account', accountId);
      const { applicationId, email, changed } = held;
      if (!changed) return;
      await recordAudit(sql, {
        actor,
        action: hold ? 'account.pause' : 'account.resume',
        target: { type: 'account', id: accountId },
        applicationId,
        accountId,
        details: { email, ...(hold ? { reason: hold.reason } : {}) },
      });
    });
    return this.get(accountId);
  }
}
