import type { Actor } from '../../platform/audit/actor.ts';
import { recordAudit } from '../../platform/audit/record-audit.ts';
import {
  ConflictError,
  InvalidInputError,
  NotFoundError,
} from '../../platform/base/errors/domain-error.ts';
import type { Clock } from '../../platform/base/time/clock.ts';
import {
  itemsOf,
  pageOf,
  type PageOf,
  pageToken,
  readPageToken,
  type TokenPage,
} from '../../platform/database/page-token.ts';
import { type Database, idsOf, type Sql } from '../../platform/database/sql.ts';
import {
  type ApplicationHold,
  setApplicationHold,
} from '../../accounts/applications/application-holds.ts';
import { scheduleChangedSync } from '../../accounts/sync-schedule/schedule-sync.ts';
import type {
  ApplicationDeletionState,
  ApplicationDetail,
  ApplicationFilter,
  ApplicationItem,
} from './application-item.ts';
import { countBriefly } from '../search/search-limit.ts';
import {
  countOperatorApplications,
  listDeletions,
  listOperatorApplications,
  readApplication,
} from './applications.repository.ts';
import { beginDeletion, isBeingDeleted } from './deletion.repository.ts';

/** Accounts whose sync pass becomes due in one transaction. */
const RESUMED_AT_ONCE = 500;

const ACTIONS: Readonly<Record<ApplicationHold, { set: string; end: string }>> = {
  sending: { set: 'application.pause', end: 'application.resume' },
  suspension: { set: 'application.suspend', end: 'application.unsuspend' },
};

const ACCOUNTS = `
  select id from "grant" where application_id = $1 and id > $2 and billing_state = 'paid' order by id limit $3`;

class BeingDeletedError extends ConflictError {
  constructor() {
    super('application.deleting', 'The application is being deleted, which cannot be undone.');
  }
}

/** All applications, for operators. The HTTP API, the commands and the console use it. */
export class OperatorApplications {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /**
   * Applications, oldest first.
   * @throws {InvalidInputError} if the page token is not one of this list
   */
  async list(filter: ApplicationFilter, page: TokenPage): Promise<PageOf<ApplicationItem>> {
    const items = itemsOf(page);
    const [after] = readPageToken(page.pageToken, ['id']) ?? [null];
    const rows = await listOperatorApplications(
      this.database,
      filter,
      after === null ? null : String(after),
      items + 1,
    );
    return pageOf(rows, items, ({ id }) => pageToken(id));
  }

  /** Applications of a list, counted up to `MOST_COUNTED`; `null` if that takes too long. */
  count(filter: ApplicationFilter): Promise<number | null> {
    return countBriefly(this.database, (sql, most) => countOperatorApplications(sql, filter, most));
  }

  /**
   * @param application its client id or id, here and below
   * @throws {NotFoundError}
   */
  async get(application: string): Promise<ApplicationDetail> {
    const found = await readApplication(this.database, application);
    if (!found) throw new NotFoundError('application', application);
    return found;
  }

  /** Deletions that run, and those that ended within 90 days, newest first. */
  deletions(): Promise<ApplicationDeletionState[]> {
    return listDeletions(this.database, 200);
  }

  /**
   * Pauses the sending of all accounts, as `OperatorAccounts.pauseSending` does for one.
   * @throws {NotFoundError}
   */
  pauseSending(
    actor: Actor,
    application: string,
    reason: string | null,
  ): Promise<ApplicationDetail> {
    return this.#hold(actor, application, 'sending', reason);
  }

  /** Resumes sending. Pauses of single accounts last. @throws {NotFoundError} */
  async resumeSending(actor: Actor, application: string): Promise<ApplicationDetail> {
    const { id: applicationId } = await this.#release(actor, application, 'sending');
    await this.#resumeSends(applicationId);
    return this.get(applicationId);
  }

  /**
   * Suspends an application: its requests and sign-ins are refused, nothing is sent, synced or
   * written to providers, and nothing is lost. Its webhooks still get what happened before.
   * @throws {NotFoundError}
   */
  suspend(actor: Actor, application: string, reason: string | null): Promise<ApplicationDetail> {
    return this.#hold(actor, application, 'suspension', reason);
  }

  /**
   * Ends a suspension: mailboxes are synced again at once, and what became due meanwhile is sent
   * unless its deadline has passed.
   * @throws {NotFoundError}
   * @throws {BeingDeletedError}
   */
  async unsuspend(actor: Actor, application: string): Promise<ApplicationDetail> {
    const { id: applicationId } = await this.#release(actor, application, 'suspension');
    await this.#resumeSends(applicationId);
    await this.#syncAll(applicationId);
    return this.get(applicationId);
  }

  /** Lists do not need the modules of the outbox, so that `carillon` shows them at once. */
  async #resumeSends(applicationId: string): Promise<void> {
    const { resumePausedSends } = await import('../../mail/outbox/steer/sending-pause.ts');
    await resumePausedSends(this.database, { applicationId });
  }

  /**
   * Begins the deletion of an application with all its data. It is suspended at once; a worker
   * deletes the rest in batches (`deletion` shows the progress). It cannot be undone.
   * @param confirm the client id or the name, so that nobody deletes the wrong one
   * @throws {NotFoundError}
   * @throws {InvalidInputError} if `confirm` is neither
   */
  async delete(actor: Actor, application: string, confirm: string): Promise<ApplicationDetail> {
    const { id, clientId, name } = await this.get(application);
    if (confirm !== clientId && confirm !== name)
      throw new InvalidInputError(
        `confirm: must be the client id (${clientId}) or the name of the application that is to be deleted`,
      );
    const at = this.clock.now();
    await this.database.transaction(async (sql) => {
      const reason = 'the application is being deleted';
      const held = await setApplicationHold(sql, id, 'suspension', { at, reason });
      if (!held) throw new NotFoundError('application', application);
      if (!(await beginDeletion(sql, held, { at, by: actor.name }))) return;
      await this.#record(sql, actor, 'application.delete', held, { name });
    });
    return this.get(id);
  }

  async #hold(
    actor: Actor,
    application: string,
    kind: ApplicationHold,
    reason: string | null,
  ): Promise<ApplicationDetail> {
    const { id } = await this.get(application);
    await this.database.transaction(async (sql) => {
      const held = await setApplicationHold(sql, id, kind, { at: this.clock.now(), reason });
      if (held?.changed) await this.#record(sql, actor, ACTIONS[kind].set, held, { reason });
    });
    return this.get(id);
  }

  async #release(
    actor: Actor,
    application: string,
    kind: ApplicationHold,
  ): Promise<{ id: string }> {
    const { id } = await this.get(application);
    await this.database.transaction(async (sql) => {
      const held = await setApplicationHold(sql, id, kind, null);
      if (kind === 'suspension' && (await isBeingDeleted(sql, id))) throw new BeingDeletedError();
      if (held?.changed) await this.#record(sql, actor, ACTIONS[kind].end, held, {});
    });
    return { id };
  }

  async #record(
    sql: Sql,
    actor: Actor,
    action: string,
    { id, clientId }: { id: string; clientId: string },
    details: Record<string, unknown>,
  ): Promise<void> {
    const target = { type: 'application', id: clientId };
    await recordAudit(sql, { actor, action, target, applicationId: id, details });
  }

  async #syncAll(applicationId: string): Promise<void> {
    for (let after = '00000000-0000-0000-0000-000000000000'; ;) {
      const ids = await this.database.transaction(async (sql) => {
        const rows = await sql.query<{ id: string }>(ACCOUNTS, [
          applicationId,
          after,
          RESUMED_AT_ONCE,
        ]);
        await scheduleChangedSync(sql, idsOf(rows));
        return idsOf(rows);
      });
      if (ids.length < RESUMED_AT_ONCE) return;
      after = ids.at(-1) ?? after;
    }
  }
}
