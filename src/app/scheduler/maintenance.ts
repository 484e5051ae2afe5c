import { Inject, Injectable, Logger } from '@nestjs/common';
import { Clock } from '../../platform/base/time/clock.ts';
import { pruneFailedAttempts } from '../../platform/auth/failed-attempts.ts';
import { pruneAuthorizationCodes } from '../../accounts/connect/oauth/authorization-codes.ts';
import { pruneLoginRequests } from '../../accounts/connect/links/prune-login-requests.ts';
import { pruneAudit } from '../../platform/audit/prune-audit.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import { Database, type SqlConnection } from '../../platform/database/sql.ts';
import { pruneChanges } from '../../platform/changes/prune-changes.ts';
import { pruneFiles } from '../../mail/files/prune-files.ts';
import { pruneAccessTokens } from '../../accounts/grants/tokens/prune-access-tokens.ts';
import { pruneAddressLoops } from '../../accounts/grants/proofs/prune-address-loops.ts';
import { pruneIdempotencyKeys } from '../../platform/idempotency/idempotency-keys.ts';
import { pruneJobAttempts } from '../../job-statuses/job-attempts.ts';
import { pruneLostWorkers } from '../../platform/work/workers/lost-workers.ts';
import { pruneApiUse } from '../../platform/budgets/api-use-rows.ts';
import { pruneProviderBuckets } from '../../platform/budgets/provider-budget.ts';
import { pruneOperatorSessions } from '../../operator/access/sessions/prune-operator-sessions.ts';
import { pruneRequestCounts } from '../../platform/request-counts/request-count-recorder.ts';
import { pruneRefusals } from '../../platform/refusals/refusal-recorder.ts';
import { pruneQuotaUse } from '../../platform/quotas/quotas.ts';
import { pruneDeletions } from '../../operator/applications/prune-deletions.ts';
import { pruneTableSamples } from '../../operator/capacity/prune-table-samples.ts';
import { pruneTrackedMessages } from '../../mail/tracking/prune-tracked-messages.ts';
import { prunePreviousSecrets } from '../../accounts/applications/prune-previous-secrets.ts';
import { pruneWebhookSecrets } from '../../platform/webhooks/secrets/prune-webhook-secrets.ts';
import { pruneWebhookEvidence } from '../../platform/webhooks/events/prune-webhook-evidence.ts';

/**
 * Deletes expired rows, a limited number per call. A task whose statements belong together opens a
 * transaction. Returns how many it deleted.
 */
export type MaintenanceTask = (
  sql: SqlConnection,
  now: Date,
  config: Pick<AppConfig, 'auditLogDays'>,
) => Promise<number>;

/** The maintenance tasks, by the name of the rows that they delete. */
export const MAINTENANCE_TASKS: Readonly<Record<string, MaintenanceTask>> = {
  'authorization codes': pruneAuthorizationCodes,
  'login requests': pruneLoginRequests,
  'failed attempts': pruneFailedAttempts,
  'counts of refused requests': pruneRefusals,
  'counts of requests': pruneRequestCounts,
  'access tokens': pruneAccessTokens,
  'sessions of operators': pruneOperatorSessions,
  'client secrets that were replaced': prunePreviousSecrets,
  'secrets of webhooks': pruneWebhookSecrets,
  'webhook events and attempts': pruneWebhookEvidence,
  changes: pruneChanges,
  'attempts of jobs': pruneJobAttempts,
  'workers that were lost': pruneLostWorkers,
  'idempotency keys': pruneIdempotencyKeys,
  files: pruneFiles,
  'tracked messages': pruneTrackedMessages,
  'counts of quotas': pruneQuotaUse,
  'full budgets of providers': pruneProviderBuckets,
  "days of use of companies' APIs": pruneApiUse,
  'mails that prove addresses': pruneAddressLoops,
  'records of deleted applications': pruneDeletions,
  'sizes of tables': pruneTableSamples,
  'entries of the audit log': (sql, now, { auditLogDays }) => pruneAudit(sql, now, auditLogDays),
};

/** Advisory lock, so that one process at a time runs maintenance. */
const LOCK = 727_003;
const MOST_ROUNDS = 100;

/**
 * Deletes expired records in small batches, in one process at a time. `recurring-work.ts`
 * runs it every ten minutes.
 */
@Injectable()
export class Maintenance {
  readonly #log = new Logger(Maintenance.name);

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    @Inject(APP_CONFIG) private readonly config: AppConfig,
  ) {}

  /**
   * Runs every task once. Tasks that deleted rows run again, until nothing is left or a task has
   * run 100 times. A failed task is logged and does not stop the others. Does nothing while another
   * process runs maintenance.
   */
  async runAll(stop: AbortSignal): Promise<void> {
    const removed = new Map<string, number>();
    let tasks = Object.entries(MAINTENANCE_TASKS);
    // A round takes the lock, and with it a connection, which requests need as well.
    for (let round = 0; round < MOST_ROUNDS && tasks.length > 0; round += 1) {
      const again: typeof tasks = [];
      const isOurs = await this.database.exclusively(LOCK, async (sql) => {
        for (const [name, task] of tasks) {
          if (stop.aborted) return;
          const count = await this.#run(sql, name, task);
          removed.set(name, (removed.get(name) ?? 0) + count);
          if (count > 0) again.push([name, task]);
        }
      });
      if (!isOurs || stop.aborted) break;
      tasks = again;
    }
    for (const [name, count] of removed)
      if (count > 0) this.#log.log(`deleted ${count} expired ${name}`);
  }

  async #run(sql: SqlConnection, name: string, task: MaintenanceTask): Promise<number> {
    try {
      return await task(sql, this.clock.now(), this.config);
    } catch (error) {
      this.#log.warn(
        `deleting expired ${name} failed; trying again at the next maintenance: ${error instanceof Error ? error.message : String(error)}`,
      );
      return 0;
    }
  }
}
