import type { QueueName } from '../../platform/work/signals.ts';
import type { Failure } from '../../platform/request-counts/request-counts.ts';
import type { FailingCheck } from '../../platform/work/readiness.ts';
import type { FullAccess } from '../access/last-operator.ts';
import type { ApiUseState } from '../api-use/api-use.ts';
import type { DiskForecast } from '../capacity/capacity.ts';
import type { Failover } from '../../platform/work/workers/failover.ts';

/*
 * What an operator sees first: numbers of the whole installation, over all processes, read from the
 * database. Counts end at `MOST_COUNTED`, because a count of a large table would slow the database
 * down just when it is busiest.
 */

/** Failures of the last minutes are a concern, those before are over. */
export const RECENT_MINUTES = 5;

/** The time that `sending` and `webhooks` of an overview are about, in seconds. */
export const OVERVIEW_SECONDS = 3_600;

/** The waiting work of one queue. */
export interface QueueState {
  queue: QueueName;
  /** Rows that a worker may claim now. Up to `MOST_COUNTED`. */
  due: number;
  /** How long the oldest of these rows has been waiting, in seconds; 0 if none is due. */
  oldestDueSeconds: number;
  /** Rows that workers have claimed and are running. Up to `MOST_COUNTED`. */
  claimed: number;
  /**
   * Rows whose promised time passed more than a minute ago and that still wait, for example for
   * their next attempt. Counted among the first `MOST_COUNTED` rows by due time.
   */
  overdue: number;
  /** All rows, those of later times included. PostgreSQL's estimate. */
  estimatedRows: number;
}

/** Attempts to send messages within one span of time. */
export interface SendingFigures {
  sent: number;
  /** Attempts that failed and are repeated. */
  retried: number;
  /** Attempts that failed for good. */
  failed: number;
  /** Attempts with an unknown outcome. */
  unknown: number;
  /**
   * Lateness of messages that were sent or tried for the first time: start of the first attempt
   * minus the promised time, in seconds. `null` if there was none.
   */
  lateP50Seconds: number | null;
  lateP99Seconds: number | null;
}

/** Attempts to deliver webhooks within one span of time. */
export interface DeliveryFigures {
  delivered: number;
  /** Attempts that failed and are repeated. */
  retried: number;
  /** Deliveries that were given up. */
  dropped: number;
  /** Duration of an attempt in seconds; `null` if there was none. */
  tookP50Seconds: number | null;
  tookP99Seconds: number | null;
}

/** Figures of one minute, for charts. */
export interface MinuteOf<F> {
  /** Start of the minute. */
  at: Date;
  figures: F;
}

/** Figures of the last hour, and minute by minute. */
export interface HourOf<F> {
  figures: F;
  /** One entry for each of the last 60 minutes, oldest first, those without attempts included. */
  minutes: MinuteOf<F>[];
  /**
   * Start of the time that the figures cover: an hour ago, or later if more attempts were made than
   * are read (`MOST_COUNTED`, the newest). Earlier minutes are then empty.
   */
  since: Date;
}

/** How far the mirrors of one provider's mailboxes are behind. */
export interface SyncState {
  provider: string;
  /** Mailboxes whose sync pass is due. Up to `MOST_COUNTED` over all providers. */
  due: number;
  /** How long the oldest of these has been due, in seconds; 0 if none is due. */
  lagSeconds: number;
  /**
   * Mailboxes that the list of accounts shows as `sync-failing`. Up to `MOST_COUNTED` over all
   * providers.
   */
  failing: number;
}

/** Mailboxes whose last sync pass failed at the same server. */
export interface FailingServer {
  provider: string;
  /** Such as `mail.example.com:993 (IMAP)`; `null` if no server was asked, or none is known. */
  server: string | null;
  /** Up to `MOST_COUNTED` over all servers. */
  failing: number;
}

/** Webhooks by their state, at most `MOST_COUNTED` in all. */
export interface WebhookStates {
  active: number;
  /** Every delivery has failed for at least 15 minutes. Deliveries continue. */
  failing: number;
  /** Switched off: every delivery failed for 72 hours, or the receiver answered 410. */
  failed: number;
  /** Stopped by an operator. Their owners see them as `failed`. */
  paused: number;
  /** Switched off by the application. */
  inactive: number;
}

/** A process that runs due work. */
export interface WorkerState {
  id: number;
  host: string;
  pid: number;
  startedAt: Date;
  /**
   * Seconds since its last heartbeat. A worker sends one each second; after 8 s it counts as dead.
   */
  silentSeconds: number;
}

/** A worker that was declared dead within the last hour. */
export interface LostWorkerState {
  id: number;
  host: string;
  pid: number;
  /** When another worker declared it dead. */
  lostAt: Date;
  /**
   * Id of a living worker of the same process: the process had only stood still, or its container
   * was started again. `null` if there is none.
   */
  againAs: number | null;
}

/** What a process of any role reports of itself. */
export interface ProcessState {
  host: string;
  pid: number;
  roles: string[];
  /** Its readiness checks that fail; not older than ten seconds. */
  problems: FailingCheck[];
  /** Seconds by which its clock is ahead of the database's; `null` if it was not compared. */
  clockAheadSeconds: number | null;
}

/** Requests of applications that were answered with the same error. */
export interface FailedRequests extends Failure {
  requests: number;
  /** Id of the last of them, which its line in the log has. */
  requestId: string | null;
  /** Start of the minute of the last of them. */
  lastAt: Date;
}

/** Requests of one minute. */
export interface RequestMinute {
  /** Start of the minute. */
  at: Date;
  requests: number;
  /** Answered with 5xx. */
  failed: number;
}

/** Requests of applications, over all processes. */
export interface RequestState {
  /** Oldest first, without minutes in which none arrived. */
  minutes: RequestMinute[];
  /** The most frequent first. */
  failures: FailedRequests[];
}

/** Refused requests of one sender, counted by all processes. */
export interface RefusalState {
  /** `login`: wrong credentials; `limit`: above a limit. */
  kind: 'login' | 'limit';
  refused: number;
  beganAt: Date;
  seenAt: Date;
  /** `null` if no account is known. */
  account: { id: string; email: string } | null;
  /** `null` if no application is known. */
  application: { clientId: string; name: string } | null;
  /** Network address; `null` if the account is known, or if an application is above a limit. */
  client: string | null;
}

/** Numbers of the whole installation, as its database shows them. */
export interface Overview {
  /** When the numbers were read, by the database's clock. */
  at: Date;
  /** The five queues. */
  queues: QueueState[];
  /** Requests of the last five minutes. */
  requests: RequestState;
  sending: HourOf<SendingFigures>;
  deliveries: HourOf<DeliveryFigures>;
  webhooks: WebhookStates;
  /** Providers that have mailboxes with a due or failing sync pass. */
  sync: SyncState[];
  /** The ten servers at which most mailboxes fail; others are one row for each provider. */
  failingServers: FailingServer[];
  /** Messages on hold, because their account was moved to another mailbox. Up to `MOST_COUNTED`. */
  heldMessages: number;
  /** Messages whose workers died while they sent them. Up to `MOST_COUNTED`. */
  quarantinedMessages: number;
  /** Accounts whose provider refuses the credentials. Up to `MOST_COUNTED`. */
  invalidAccounts: number;
  /** Senders with many refused requests in the last minutes, the worst first; at most five. */
  refusals: RefusalState[];
  /**
   * Applications near a ceiling at a company, or whose use will cost money; at most five, and at
   * most a minute old.
   */
  apiUse: ApiUseState[];
  /** How full the disk is; at most a minute old. */
  disk: DiskForecast;
  /** The last failover of the database, if it was within the last day; else `null`. */
  failover: Failover | null;
  workers: WorkerState[];
  /** The newest first, at most 100. */
  lostWorkers: LostWorkerState[];
  /** This process, and others that report something wrong. */
  processes: ProcessState[];
  /**
   * How operators with the role `operate` can still sign in, if no such operator can do so without
   * a link; else `null`. Outside production links are enough.
   */
  missingAccess: Exclude<FullAccess, 'own'> | null;
}
