import type {
  ProviderWriteHandler,
  WriteOutcome,
} from '../../../accounts/provider-writes/provider-writes.ts';
import type { AccountPrincipal } from '../../../platform/auth/principal.ts';
import type { NativeMeeting } from '../../../providers/port/connector.ts';

/** The conferencing of a request. Without `autocreate` it asks for no meeting. */
export interface ConferencingRequest {
  provider: string;
  autocreate?: { settings: Readonly<Record<string, unknown>> } | undefined;
}

/** One step in the write of an event. */
export interface EventWriteStep {
  /**
   * False if a meeting is still to be created: the event is written once more then, and only that
   * write notifies participants.
   */
  isLast: boolean;
  /** The meeting that the provider is to create with the event. */
  meeting?: NativeMeeting;
}

/** Writes an event to its calendar. */
export type EventWriteHandler = (
  ...write: [...Parameters<ProviderWriteHandler>, EventWriteStep]
) => Promise<WriteOutcome>;

/**
 * The online meetings of events: what events need of them. Implemented by the module
 * `conferencing` (ADR 0105).
 */
export abstract class EventMeetings {
  /**
   * Checks that a service of the application, or the account's provider, can create the meeting
   * that an event requests. Does nothing if the event requests none.
   * @param event for a new event, the quota of meetings is checked too. A change of an event may
   *   repeat stored values, so there the quota is checked later and the job status reports the
   *   result
   * @throws {InvalidInputError} naming the field: unknown provider, no service set up, or
   *   unsupported settings
   * @throws {DomainError} `rate-limited` if the quota of meetings is used up for today
   */
  abstract accept(
    account: AccountPrincipal,
    request: ConferencingRequest | undefined,
    event: { isNew: boolean },
  ): Promise<void>;

  /**
   * Wraps the write of an event and adds the step for its meeting. The application's own service is
   * preferred to the provider, which creates its meetings with the event.
   */
  abstract writing(write: EventWriteHandler): ProviderWriteHandler;

  /** Wraps the deletion of an event and marks its meeting for deletion. */
  abstract deleting(write: ProviderWriteHandler): ProviderWriteHandler;
}
