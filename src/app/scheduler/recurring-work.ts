import { Injectable } from '@nestjs/common';
import { Cron, type CronOptions, Timeout } from '@nestjs/schedule';
import { AddressChecks } from '../../accounts/grants/proofs/address-checks.ts';
import { AddressLoops } from '../../accounts/grants/proofs/address-loops.ts';
import { TokenUses } from '../../accounts/grants/tokens/token-uses.ts';
import { PushPulls } from '../../accounts/push/push-pulls.ts';
import { PushUpkeep } from '../../accounts/push/push-upkeep.ts';
import { WebhookMails } from '../../accounts/webhook-mails/webhook-mails.ts';
import { MeetingUpkeep } from '../../calendar/conferencing/meeting-upkeep.ts';
import { resumePausedSends } from '../../mail/outbox/steer/sending-pause.ts';
import { BodyUploads } from '../../mail/messages/objects/body-uploads.ts';
import { ObjectDeletions } from '../../mail/messages/objects/object-deletions.ts';
import { ObjectSweep } from '../../mail/messages/objects/object-sweep.ts';
import { RelayEnrolment } from '../../mail/relay/relay-enrolment.ts';
import { TextBacklogRunner } from '../../mail/search/text-backlog.ts';
import { ApplicationDeletionsService } from '../../operator/applications/application-deletions.service.ts';
import { OperatorCapacity } from '../../operator/capacity/operator-capacity.ts';
import { ApiUseCounter } from '../../platform/budgets/api-use-counter.ts';
import { RequestCountRecorder } from '../../platform/request-counts/request-count-recorder.ts';
import { RefusalRecorder } from '../../platform/refusals/refusal-recorder.ts';
import { MoveRunner } from '../../platform/moves/move-runner.ts';
import { LogLevels } from '../../platform/log-level/log-levels.ts';
import { Database } from '../../platform/database/sql.ts';
import { Engine } from '../../platform/work/engine.ts';
import { KeyWatch } from '../keys/key-watch.ts';
import { AccountFills } from './account-fills.ts';
import { Maintenance } from './maintenance.ts';
import { TaskRuns } from './task-runs.ts';

// These jobs begin a second after the start, when the library is compiled. If its first computation
// takes until the next second, it prints a line of its own into the log.
const EVERY_SECOND = '* * * * * *';

/**
 * A task that never overlaps itself: a run that is due while the last one is still running is left
 * out.
 * @param name unique among all tasks
 * @param firstAfterSeconds seconds after the start of the process before the first run may begin
 */
function task(name: string, firstAfterSeconds: number): CronOptions {
  return {
    name,
    waitForCompletion: true,
    timeZone: 'UTC',
    initialDelay: firstAfterSeconds * 1000,
  };
}

/**
 * The recurring work of workers. Workers divide the work of a task among themselves through its
 * tables, so each worker may run each task.
 *
 * The first three tasks are the clock of the outbox, the reminders and all other due work. They
 * find what has become due. Work that another request or process has just written does not wait for
 * them: PostgreSQL's NOTIFY wakes the engine at once (docs/architecture.md, "Due work").
 *
 * Timers that belong to an open resource are not listed here. They are the heartbeat of an engine
 * that stops, the lease of a `POST /send` (`mail/outbox/accept/direct-lease.ts`), and connections
 * that wait for mailbox changes (`sync/watches/mailbox-watches.ts`). The others are leased
 * integrations whose notifications are pulled (`accounts/push/push-pulls.ts`) and clients that wait
 * for changes (`deltas/change-watch.ts`).
 */
@Injectable()
export class WorkOfWorkers {
  constructor(private readonly runs: TaskRuns) {}

  /** Claims the messages of the outbox that are due and hands them to their providers. */
  @Cron(EVERY_SECOND, task('advance the outbox', 1))
  advanceOutbox(): Promise<void> {
    return this.runs.ofWorker(Engine, (engine) => engine.advance('send'));
  }

  /** Claims the reminders that are due and sends them. */
  @Cron(EVERY_SECOND, task('fire reminders', 1))
  fireReminders(): Promise<void> {
    return this.runs.ofWorker(Engine, (engine) => engine.advance('reminder'));
  }

  /** Claims due changes for providers, deliveries of webhooks, and sync passes. */
  @Cron(EVERY_SECOND, task('advance other queues', 1))
  advanceOtherQueues(): Promise<void> {
    return this.runs.ofWorker(Engine, (engine) => engine.advance('provider', 'hook', 'sync'));
  }

  // Tasks with the same interval run in different seconds, because each needs a connection to the
  // database.

  @Cron('0/10 * * * * *', task('address checks', 10))
  checkAddresses(): Promise<void> {
    return this.runs.ofWorker(AddressChecks, (checks) => checks.runAll());
  }

  @Cron('1/10 * * * * *', task('address loops', 10))
  proveAddresses(): Promise<void> {
    return this.runs.ofWorker(AddressLoops, (loops) => loops.run());
  }

  @Cron('2/10 * * * * *', task('push subscriptions', 10))
  renewSubscriptions(): Promise<void> {
    return this.runs.ofWorker(PushUpkeep, (upkeep, stop) => upkeep.run(stop));
  }

  @Cron('3/10 * * * * *', task('pulled notifications', 10))
  pullNotifications(): Promise<void> {
    return this.runs.ofWorker(PushPulls, (pulls) => pulls.run());
  }

  @Cron('4/10 * * * * *', task('relay enrolment', 10))
  enrolRelays(): Promise<void> {
    return this.runs.ofWorker(RelayEnrolment, (relays) => relays.run());
  }

  @Cron('5/10 * * * * *', task('meetings', 10))
  createMeetings(): Promise<void> {
    return this.runs.ofWorker(MeetingUpkeep, (meetings) => meetings.run());
  }

  @Cron('6/10 * * * * *', task('deletions of applications', 10))
  deleteApplications(): Promise<void> {
    return this.runs.ofWorker(ApplicationDeletionsService, (deletions, stop) =>
      deletions.run(stop),
    );
  }

  @Cron('12/15 * * * * *', task('bodies for the object store', 15))
  storeBodies(): Promise<void> {
    return this.runs.ofWorker(BodyUploads, (uploads, stop) => uploads.runBriefly(stop));
  }

  @Cron('10 * * * * *', task('objects of deleted accounts', 60))
  deleteObjects(): Promise<void> {
    return this.runs.ofWorker(ObjectDeletions, (deletions, stop) => deletions.run(stop));
  }

  @Cron('30 * * * * *', task('objects without a row', 60))
  sweepObjects(): Promise<void> {
    return this.runs.ofWorker(ObjectSweep, (sweep, stop) => sweep.runBriefly(stop));
  }

  @Cron('8/30 * * * * *', task('mails about webhooks', 30))
  sendWebhookMails(): Promise<void> {
    return this.runs.ofWorker(WebhookMails, (mails, stop) => mails.run(stop));
  }

  /**
   * Makes messages due whose pause has ended. Resuming does that at once; this finds messages that
   * a worker was just about to let wait, and the rest after a process that resumed them died.
   */
  @Cron('15 * * * * *', task('resumed messages', 60))
  resumeMessages(): Promise<void> {
    return this.runs.ofWorker(Database, async (database, stop) => {
      await resumePausedSends(database, {}, () => !stop.aborted);
    });
  }

  @Cron('35 * * * * *', task('text backlog', 60))
  fillSearch(): Promise<void> {
    return this.runs.ofWorker(TextBacklogRunner, (backlog, stop) => backlog.runBriefly(stop));
  }

  @Cron('20 * * * * *', task('moves of tables', 60))
  moveRows(): Promise<void> {
    return this.runs.ofWorker(MoveRunner, (moves, stop) => moves.runBriefly(stop));
  }

  @Cron('40 * * * * *', task('accounts of rows', 60))
  fillAccounts(): Promise<void> {
    return this.runs.ofWorker(AccountFills, (fills, stop) => fills.runBriefly(stop));
  }

  @Cron('45 */5 * * * *', task('meetings without events', 300))
  removeMeetings(): Promise<void> {
    return this.runs.ofWorker(MeetingUpkeep, (meetings) => meetings.reconcile());
  }

  /**
   * Stores the sizes of all tables, once a day. Each hour asks whether that is still to be done.
   */
  @Cron('25 0 * * * *', task('sizes of tables', 60))
  sampleTables(): Promise<void> {
    return this.runs.ofWorker(OperatorCapacity, (capacity) => capacity.takeSample());
  }

  @Timeout('first sizes of tables', 30_000)
  sampleTablesAfterStart(): Promise<void> {
    return this.sampleTables();
  }

  @Cron('55 */10 * * * *', task('maintenance', 600))
  deleteExpired(): Promise<void> {
    return this.runs.ofWorker(Maintenance, (maintenance, stop) => maintenance.runAll(stop));
  }

  /** For processes that restart more often than every ten minutes. */
  @Timeout('first maintenance', 60_000)
  deleteExpiredAfterStart(): Promise<void> {
    return this.deleteExpired();
  }
}

/** The recurring work that every process does for itself. */
@Injectable()
export class WorkOfProcesses {
  constructor(private readonly runs: TaskRuns) {}

  @Cron('7/10 * * * * *', task('keys', 10))
  checkKeys(): Promise<void> {
    return this.runs.ofProcess(KeyWatch, (keys) => keys.tick());
  }

  @Cron('4/5 * * * * *', task('log level', 5))
  readLogLevel(): Promise<void> {
    return this.runs.ofProcess(LogLevels, (levels) => levels.tick());
  }

  @Cron('9/10 * * * * *', task("use of companies' APIs", 10))
  storeApiUse(): Promise<void> {
    return this.runs.ofProcess(ApiUseCounter, (counter) => counter.store());
  }

  @Cron('8/10 * * * * *', task('refused requests', 10))
  storeRefusals(): Promise<void> {
    return this.runs.ofProcess(RefusalRecorder, (recorder) => recorder.store());
  }

  @Cron('6/15 * * * * *', task('counts of requests', 15))
  storeRequestCounts(): Promise<void> {
    return this.runs.ofProcess(RequestCountRecorder, (recorder) => recorder.store());
  }

  @Cron('50 * * * * *', task('uses of access tokens', 60))
  storeTokenUses(): Promise<void> {
    return this.runs.ofProcess(TokenUses, (uses) => uses.store());
  }
}
