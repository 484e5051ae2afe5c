import { Injectable, Logger } from '@nestjs/common';
import { deleteApplication } from '../../accounts/applications/delete-application.ts';
import { GrantsService } from '../../accounts/grants/grants.service.ts';
import { deleteAddressLoopsOf } from '../../accounts/grants/proofs/prune-address-loops.ts';
import { deleteRecordedTexts } from '../../calendar/sms/delete-recorded-texts.ts';
import { SYSTEM } from '../../platform/audit/actor.ts';
import { recordAudit } from '../../platform/audit/record-audit.ts';
import { NotFoundError } from '../../platform/base/errors/domain-error.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { deleteApiUse } from '../../platform/budgets/api-use-rows.ts';
import { deleteChanges } from '../../platform/changes/delete-changes.ts';
import { Database } from '../../platform/database/sql.ts';
import { deleteQuotaUse } from '../../platform/quotas/delete-quota-use.ts';
import { deleteWebhooksOf } from '../../platform/webhooks/delete-of-application.ts';
import { forgetRateGates } from '../../platform/work/gates/rate-gates.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import {
  chooseAccounts,
  countDeleted,
  DELETION_STEPS,
  enterStep,
  finishDeletion,
  leaseDeletion,
  type LeasedDeletion,
  releaseDeletion,
} from './deletion.repository.ts';

/** Accounts of a batch. They are deleted at the same time. */
const ACCOUNTS_AT_ONCE = 4;
/** Rows of other tables that one transaction deletes. */
const ROWS_AT_ONCE = 2_000;
/** How long a deletion rests after a failure. */
const FAILED_WAIT_SECONDS = 60;

/**
 * Deletes applications with all their data, in batches that a killed worker does not lose: each
 * batch is noted before it begins, and is repeated until it is done (ADR 0091).
 */
@Injectable()
export class ApplicationDeletionsService {
  readonly #log = new Logger(ApplicationDeletionsService.name);

  constructor(
    private readonly database: Database,
    private readonly grants: GrantsService,
    private readonly connectors: ConnectorRegistry,
    private readonly clock: Clock,
  ) {}

  /** Works on the deletions that were requested until they are done, or until `stop`. */
  async run(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      const deletion = await leaseDeletion(this.database);
      if (!deletion) return;
      const { applicationId, clientId } = deletion;
      try {
        await this.#continue(deletion, stop);
        await releaseDeletion(this.database, applicationId, 0, null);
      } catch (error) {
        const words = error instanceof Error ? error.message : String(error);
        this.#log.warn(`deleting application ${clientId} failed and is repeated: ${words}`);
        await releaseDeletion(this.database, applicationId, FAILED_WAIT_SECONDS, words);
      }
    }
  }

  async #continue(deletion: LeasedDeletion, stop: AbortSignal): Promise<void> {
    const { applicationId, leaving } = deletion;
    const begin = DELETION_STEPS.indexOf(deletion.step);
    for (const step of DELETION_STEPS.slice(begin)) {
      await enterStep(this.database, applicationId, step);
      if (step === 'accounts') await this.#accounts(applicationId, leaving, stop);
      else if (step === 'application') return this.#finish(deletion);
      else await this.#rows(applicationId, step, stop);
      if (stop.aborted) return;
    }
  }

  async #accounts(
    applicationId: string,
    leaving: readonly string[],
    stop: AbortSignal,
  ): Promise<void> {
    let ids = leaving;
    for (;;) {
      await Promise.all(ids.map((id) => this.#account(applicationId, id)));
      await this.#leftovers(ids);
      await countDeleted(this.database, applicationId, ids.length);
      if (stop.aborted) return;
      ids = await chooseAccounts(this.database, applicationId, ACCOUNTS_AT_ONCE);
      if (ids.length === 0) return;
    }
  }

  async #account(applicationId: string, accountId: string): Promise<void> {
    try {
      await this.grants.removeAndWait(applicationId, accountId);
    } catch (error) {
      // A run that was cut off has removed it.
      if (!(error instanceof NotFoundError)) throw error;
    }
  }

  /** Deletes what belongs to the accounts without a foreign key. */
  async #leftovers(accountIds: readonly string[]): Promise<void> {
    if (accountIds.length === 0) return;
    while ((await deleteChanges(this.database, accountIds, ROWS_AT_ONCE)) === ROWS_AT_ONCE);
    await deleteQuotaUse(this.database, accountIds);
    await deleteRecordedTexts(this.database, accountIds);
    await forgetRateGates(this.database, accountIds);
  }

  /** Repeats a step until it finds nothing. */
  async #rows(
    applicationId: string,
    step: Exclude<LeasedDeletion['step'], 'accounts' | 'application'>,
    stop: AbortSignal,
  ): Promise<void> {
    const deleteRows = {
      webhooks: () => deleteWebhooksOf(this.database, applicationId, ROWS_AT_ONCE),
      'address checks': () => deleteAddressLoopsOf(this.database, applicationId, ROWS_AT_ONCE),
      sandbox: () => this.#ofConnectors(applicationId),
    }[step];
    while ((await deleteRows()) > 0) {
      await enterStep(this.database, applicationId, step);
      if (stop.aborted) return;
    }
  }

  async #ofConnectors(applicationId: string): Promise<number> {
    let deleted = 0;
    for (const connector of this.connectors.all())
      deleted +=
        (await connector.forgetApplication?.(this.database, applicationId, ROWS_AT_ONCE)) ?? 0;
    return deleted;
  }

  async #finish({ applicationId, clientId, name }: LeasedDeletion): Promise<void> {
    await this.database.transaction(async (sql) => {
      await deleteQuotaUse(sql, [applicationId]);
      await deleteApiUse(sql, applicationId);
      await deleteApplication(sql, applicationId);
      await finishDeletion(sql, applicationId, this.clock.now());
      await recordAudit(sql, {
        actor: SYSTEM,
        action: 'application.deleted',
        target: { type: 'application', id: clientId },
        applicationId,
        details: { name },
      });
    });
    this.#log.log(`application ${clientId} was deleted with all its data`);
  }
}
