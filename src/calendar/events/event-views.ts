import { Injectable } from '@nestjs/common';
import type { Listing } from '../../platform/database/listing.ts';
import type { EventRecord } from './event-record.ts';
import { toEventView, warningsOf } from './events.mapper.ts';
import type { EventView } from './events.schema.ts';
import { EventReminders, type NotificationOutcome } from './ports/event-reminders.ts';

/** An event after a request that may have changed it. */
export interface WrittenEvent {
  event: EventRecord;
  /** Job of the write; `null` if the request needed none. */
  jobId: string | null;
  /** Outcomes of the notifications, if the request has planned them; they are read otherwise. */
  planned?: readonly NotificationOutcome[] | undefined;
}

/** Makes the form of events that the API shows, with the outcomes of their notifications. */
@Injectable()
export class EventViews {
  constructor(private readonly reminders: EventReminders) {}

  /**
   * Events of one account, in their order; one query for the outcomes of all notifications.
   * @param expanded whether the events have `warnings`
   */
  async ofAll(
    accountId: string,
    events: readonly EventRecord[],
    expanded = false,
  ): Promise<EventView[]> {
    const outcomes = await this.reminders.outcomes(accountId, events);
    return events.map((event) => {
      const view = toEventView(event, outcomes.get(event.id) ?? []);
      return expanded ? withWarnings(view, event) : view;
    });
  }

  /**
   * The response to a list of events, in the view that was asked for.
   * @param expanded whether events have `warnings`
   */
  async ofList(accountId: string, found: Listing<EventRecord>, expanded: boolean) {
    if (found.view === 'items') return this.ofAll(accountId, found.items, expanded);
    return found.view === 'ids' ? found.ids : { count: found.count };
  }

  /** @param expanded whether the event has `warnings` */
  async of(event: EventRecord, expanded = false): Promise<EventView> {
    const view = await this.ofWritten({ event, jobId: null });
    return expanded ? withWarnings(view, event) : view;
  }

  /** An event after a write, with its `job_status_id`. */
  async ofWritten({ event, jobId, planned }: WrittenEvent): Promise<EventView> {
    const outcomes =
      planned ?? (await this.reminders.outcomes(event.accountId, [event])).get(event.id) ?? [];
    return toEventView(event, outcomes, jobId);
  }
}

function withWarnings(view: EventView, event: EventRecord): EventView {
  return { ...view, warnings: warningsOf(event) };
}
