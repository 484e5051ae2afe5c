import type { PageOfView } from '../../platform/database/listing.ts';
import type { MetadataFilter } from '../../platform/database/metadata-filter.ts';
import type { TimeBounds } from './recurrence/instances.ts';

/** Which events are listed: all that is given has to hold. */
export interface EventFilter extends TimeBounds {
  calendarId?: string | undefined;
  /** Also of an instance: `<id of the series>_<original start>`. */
  eventId?: string | undefined;
  /** Parts of texts, in any case. */
  title?: string | undefined;
  description?: string | undefined;
  location?: string | undefined;
  /** Name, email, status or phone number of a participant. */
  participant?: string | undefined;
  busy?: boolean | undefined;
  updatedBefore?: Date | undefined;
  updatedAfter?: Date | undefined;
  /** Default: cancelled events are left out, but for instances of series. */
  showCancelled?: boolean | undefined;
  /** Instances in the place of recurring events. */
  expandRecurring?: boolean | undefined;
  customerEventId?: string | undefined;
  metadata?: MetadataFilter | undefined;
}

export type EventQuery = EventFilter & PageOfView;
