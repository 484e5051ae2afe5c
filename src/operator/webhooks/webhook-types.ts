import type { FeedProgress } from '../../platform/webhooks/feed/feed-progress.ts';
import type { FilterColumns } from '../../platform/webhooks/webhook-filters.ts';
import type {
  WebhookContent,
  WebhookDeliveryKind,
  WebhookState,
} from '../../platform/webhooks/webhook-state.ts';

/** Which webhooks to list. */
export interface WebhookFilter {
  /** A state; `unwell`: failing, failed, or without a success since a failure, and not paused. */
  state?: WebhookState | 'unwell' | undefined;
  /** Id or client id of the application. */
  application?: string | undefined;
  /** Part of the callback address. */
  url?: string | undefined;
}

/** One webhook in a list. */
export interface WebhookSummary extends FilterColumns {
  id: string;
  applicationId: string;
  clientId: string;
  applicationName: string;
  delivery: WebhookDeliveryKind;
  /** `null` for a pull webhook. */
  callbackUrl: string | null;
  state: WebhookState;
  /** Whether an operator stopped it; its state is `failed` then. */
  paused: boolean;
  triggers: string[];
  content: WebhookContent;
  /** First failure since the last success; `null` if there is none. */
  failingSince: Date | null;
  /** Failed deliveries since the last success. */
  failures: number;
  /** Why the last attempt failed; `null` unless there are failures since the last success. */
  lastFailure: string | null;
  /** Deliveries that are queued; counted up to 10,000. */
  backlog: number;
  /** Whether there are more than `backlog`. */
  backlogIsMore: boolean;
  /** When the oldest queued event was queued; `null` if none is. */
  oldestDueAt: Date | null;
  createdAt: Date;
}

/** One webhook with what is known of its recent deliveries. */
export interface WebhookDetails extends WebhookSummary {
  subscribedAt: Date;
  /** Attempts that ended in the last hour, by outcome; counted up to 10,000. */
  lastHour: { delivered: number; retry: number; dropped: number };
  lastDeliveredAt: Date | null;
  /** Events of its triggers are stored since then: what `replay` can reach. */
  replayableSince: Date;
  /** What its owner has acknowledged of the feed, and how many events wait behind it. */
  feed: FeedProgress;
}

/** Which attempts to list. */
export interface AttemptFilter {
  outcome?: 'delivered' | 'retry' | 'dropped' | undefined;
  eventId?: string | undefined;
  since?: Date | undefined;
  until?: Date | undefined;
}

/** One request to a webhook. */
export interface WebhookAttemptInfo {
  id: string;
  /** The first event of the request. */
  eventId: string;
  /** Account of the events and their numbers; `null`: they have none. */
  accountId: string | null;
  firstSequence: number | null;
  lastSequence: number | null;
  /** How many events the request had. */
  deltas: number;
  /** That of the first event; `null` once it is no longer stored. */
  trigger: string | null;
  attempt: number;
  startedAt: Date;
  tookMs: number;
  httpStatus: number | null;
  outcome: 'delivered' | 'retry' | 'dropped';
  detail: string | null;
  /**
   * The first kilobyte of the receiver's answer as plain text without control characters; of a
   * delivered event, the first 128 bytes. `null` if it was empty or there was none.
   */
  response: string | null;
  nextAt: Date | null;
}
