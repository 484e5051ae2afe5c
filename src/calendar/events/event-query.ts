import type { PageOfView } from '../../platform/database/listing.ts';
import type { MetadataFilter } from '../../platform/database/metadata-filter.ts';
import type { TimeBounds } from './recurrence/instances.ts';

/** Filters for a list of events. An event has to match all filters that are given. */
export interface EventFilter extends TimeBounds {
  calendarId?: string | undefined;
  /** Id of an event, or of an instance as `<id of the series>_<original start>`. */
  eventId?: string | undefined;
  /** Substring of the title; case is ignored. The same holds for `description` and `location`. */
  title?: string | undefined;
  description?: string | undefined;
  location?: string | undefined;
  /** Name, email, status or phone number of a participant. */
  participant?: string | undefined;
  busy?: boolean | undefined;
  updatedBefore?: Date | undefined;
  updatedAfter?: Date | undefined;
  /**
   * Include cancelled events. Default: they are left out, except cancelled instances of series when
   * `expandRecurring` is not set.
   */
  showCancelled?: boolean | undefined;
  /** List instances instead of recurring events. */
  expandRecurring?: boolean | undefined;
  customerEventId?: string | undefined;
  metadata?: MetadataFilter | undefined;
}

export type EventQuery = EventFilter & PageOfView;
