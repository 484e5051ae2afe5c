import { eventsOfRow } from '../../platform/webhooks/events/queued-events.ts';
import { pauseWebhooks } from '../../platform/webhooks/pause-webhooks.ts';
import { ConflictError } from '../../platform/base/errors/domain-error.ts';
import type { Clock } from '../../platform/base/time/clock.ts';
import type { AppConfig } from '../../platform/config/app-config.ts';
import {
  confirmIdentity,
  describeDifferences,
  type DatabaseIdentity,
  identityDifferences,
  currentIdentity,
  recordedIdentity,
  type RecordedIdentity,
} from '../../platform/work/workers/database-identity.ts';
import type { Database, Sql } from '../../platform/database/sql.ts';
import type { Actor } from '../../platform/audit/actor.ts';
import { recordAudit } from '../../platform/audit/record-audit.ts';

/** The modules of the queues. A report does not need them, so that `carillon` shows it at once. */
const loadCancellations = async () => {
  const [{ cancelOpenMessages }, { cancelScheduledReminders }] = await Promise.all([
    import('../../mail/outbox/steer/cancel-open.ts'),
    import('../../calendar/notifications/plan/cancel-scheduled.ts'),
  ]);
  return { cancelOpenMessages, cancelScheduledReminders };
};

/** Number of open rows of one queue, and how many of them are overdue. */
export interface QueueCount {
  open: number;
  overdue: number;
}

/** The settings that are part of the identity. */
type InstanceConfig = Pick<AppConfig, 'database' | 'dataDir' | 'instanceName'>;

/** Where a database belongs, and what workers would do if they ran on it here. */
export interface InstanceReport {
  /** `null` if no worker has run on it yet; the first worker claims it. */
  recorded: DatabaseIdentity | null;
  confirmed_at: string | null;
  here: DatabaseIdentity;
  /** Whether workers of this installation use the database. */
  agrees: boolean;
  /** The differences in words; empty if there are none. */
  differences: string;
  /** Workers that reported within the last ten seconds. */
  workers: number;
  messages: QueueCount;
  reminders: QueueCount;
  deliveries: QueueCount;
  provider_writes: QueueCount;
  active_webhooks: number;
}

/** SQL of how many items a row of a queue has: a lane of `hook_job` can have several events. */
const QUEUES = {
  messages: { table: 'send_job', items: '1' },
  reminders: { table: 'reminder_job', items: '1' },
  deliveries: { table: 'hook_job', items: eventsOfRow('hook_job') },
  provider_writes: { table: 'provider_job', items: '1' },
} as const;

const waiting = ({ table, items }: { table: string; items: string }) => `
  (select json_build_object('open', coalesce(sum(${items}), 0),
                            'overdue', coalesce(sum(${items}) filter (where due_at <= now()), 0)) from ${table})`;

const COUNTS = `
  select ${Object.entries(QUEUES)
    .map(([name, queue]) => `${waiting(queue)} as ${name}`)
    .join(', ')},
    (select count(*) from worker where seen_at > now() - interval '10 s')::int as workers,
    (select count(*) from webhook where state <> 'inactive')::int as active_webhooks`;

type Counts = Pick<InstanceReport, keyof typeof QUEUES | 'workers' | 'active_webhooks'>;

/** Advisory lock, so that one takeover runs at a time. */
const LOCK = 'select pg_try_advisory_xact_lock(727005) as ours';
/** The transaction of the lock is idle while messages are cancelled. */
const WAIT_LONGER = `set local idle_in_transaction_session_timeout = '15min'`;

/** What to cancel: everything that is waiting, or only what is overdue. */
export const CANCEL_CHOICES = ['all', 'overdue'] as const;
export type CancelChoice = (typeof CANCEL_CHOICES)[number];

/** Actions before the installation takes over. */
export interface Takeover {
  cancelSends?: CancelChoice | undefined;
  cancelReminders?: CancelChoice | undefined;
  pauseWebhooks?: boolean | undefined;
}

export interface TakeoverReport {
  webhooks_paused: number;
  messages_cancelled: number;
  reminders_cancelled: number;
}

/** Reason that users see for messages and reminders cancelled by a takeover. */
export const CANCEL_REASON = 'cancelled: the database was restored from a copy';

/**
 * Which installation the database belongs to, and taking it over. The only class that the command
 * and the console use for that. Needs no framework.
 */
export class OperatorInstance {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /**
   * Compares the database with the installation of this process. Changes nothing.
   * @param config settings of a worker: its address of the database is part of the identity
   */
  async report(config: InstanceConfig): Promise<InstanceReport> {
    const here = await currentIdentity(this.database, config);
    return this.#compare(await this.recorded(), here);
  }

  /** What the database has recorded. `undefined` if no worker has run on it yet. */
  recorded(): Promise<RecordedIdentity | undefined> {
    return recordedIdentity(this.database);
  }

  /**
   * Compares the database with the running workers that refuse it. Changes nothing.
   * @returns `null` if none refuses it
   */
  async refusal(): Promise<InstanceReport | null> {
    const known = await this.recorded();
    if (!known?.refused) return null;
    const report = await this.#compare(known, known.refused);
    // A worker may have written its row just after the confirmation.
    return report.agrees ? null : report;
  }

  /**
   * Makes the database belong to the installation of this process.
   * @param config settings of a worker
   * @throws {ConflictError} while another takeover runs
   */
  takeOver(actor: Actor, config: InstanceConfig, wanted: Takeover): Promise<TakeoverReport> {
    return this.#alone(async (sql) => this.#confirm(sql, actor, await this.report(config), wanted));
  }

  /**
   * Makes the database belong to the workers that refuse it.
   * @param shown `differences` of the report that the operator has read
   * @throws {ConflictError} while another takeover runs, or if no worker refuses the database, or
   *   for other reasons than shown: somebody else may have confirmed it, and new messages must not
   *   be cancelled
   */
  confirm(actor: Actor, shown: string, wanted: Takeover): Promise<TakeoverReport> {
    return this.#alone(async (sql) => {
      const report = await this.refusal();
      if (report === null)
        throw new ConflictError(
          'instance.agrees',
          'No running worker refuses the database. Nothing was changed.',
        );
      if (report.differences !== shown)
        throw new ConflictError(
          'instance.changed',
          'The workers report something else by now. Nothing was changed: look at the page again.',
        );
      return this.#confirm(sql, actor, report, wanted);
    });
  }

  /**
   * Runs one takeover at a time. The lock ends with its transaction, so that it also works behind a
   * pooler. Other connections cancel messages, in small transactions.
   * @param work stores the identity by `sql`: without the lock, the commit fails
   * @throws {ConflictError} if another takeover runs, or the pool has only one connection
   */
  async #alone<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    if (this.database.size < 2)
      throw new ConflictError(
        'instance.one-connection',
        'A confirmation needs two connections, and DATABASE_POOL is 1 here. Run on the server: carillon instance confirm',
      );
    return this.database.transaction(async (sql) => {
      await sql.query(WAIT_LONGER);
      const [lock] = await sql.query<{ ours: boolean }>(LOCK);
      if (!lock?.ours)
        throw new ConflictError(
          'instance.busy',
          'Another confirmation of the database is running. Nothing was changed: look at the page again.',
        );
      return work(sql);
    });
  }

  async #compare(
    known: RecordedIdentity | undefined,
    here: DatabaseIdentity,
  ): Promise<InstanceReport> {
    const differences = known ? identityDifferences(known.place, here) : [];
    const [counts] = await this.database.query<Counts>(COUNTS);
    if (!counts) throw new Error('the queues could not be counted');
    return {
      recorded: known?.place ?? null,
      confirmed_at: known?.confirmedAt.toISOString() ?? null,
      here,
      agrees: differences.length === 0,
      differences: describeDifferences(differences),
      ...counts,
    };
  }

  /**
   * Webhooks are paused first, so that they are not notified of cancellations. The identity is
   * stored last, so that nothing is sent earlier, and an interrupted takeover can be repeated. The
   * audit log says what was asked for even if the takeover is interrupted.
   */
  async #confirm(
    sql: Sql,
    actor: Actor,
    { here, differences }: InstanceReport,
    wanted: Takeover,
  ): Promise<TakeoverReport> {
    const target = { type: 'instance', id: here.name };
    await recordAudit(this.database, {
      actor,
      action: 'instance.confirm',
      target,
      details: { differences, address: here.address, ...choicesOf(wanted) },
    });
    const report = await this.#cancel(wanted);
    await confirmIdentity(sql, here);
    const details = { ...report };
    await recordAudit(sql, { actor, action: 'instance.confirmed', target, details });
    return report;
  }

  async #cancel({
    cancelSends,
    cancelReminders,
    pauseWebhooks: pauses,
  }: Takeover): Promise<TakeoverReport> {
    const { database } = this;
    const { cancelOpenMessages, cancelScheduledReminders } = await loadCancellations();
    const at = this.clock.now();
    const until = (choice: CancelChoice) => (choice === 'all' ? null : at);
    return {
      webhooks_paused: pauses ? await pauseWebhooks(database, at) : 0,
      messages_cancelled: cancelSends
        ? await cancelOpenMessages(database, CANCEL_REASON, until(cancelSends), at)
        : 0,
      reminders_cancelled: cancelReminders
        ? await cancelScheduledReminders(database, CANCEL_REASON, until(cancelReminders), at)
        : 0,
    };
  }
}

/** What the operator has chosen, for the audit log. */
const choicesOf = ({ cancelSends, cancelReminders, pauseWebhooks: pauses }: Takeover) => ({
  cancel_sends: cancelSends ?? 'none',
  cancel_reminders: cancelReminders ?? 'none',
  pause_webhooks: pauses ?? false,
});
