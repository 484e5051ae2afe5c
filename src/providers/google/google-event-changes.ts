import { z } from 'zod';
import type {
  EventChanges,
  ExcludedInstance,
  ProviderAccount,
  RemoteEvent,
} from '../port/connector.ts';
import type { GoogleApi } from './google-api.ts';
import { GoogleError } from './google-error.ts';
import { EventIds } from './google-event-ids.ts';
import { type GoogleEvent, googleEvent, KEY_PROPERTY, readEvent, startOf } from './google-event.ts';

const COST = { units: 1, priority: 'interactive' } as const;
const MOST_PER_PAGE = 2_500;

const page = z.object({
  items: z.array(z.unknown()).default([]),
  timeZone: z.string().default('UTC'),
  nextPageToken: z.string().optional(),
  nextSyncToken: z.string().optional(),
});

const idPage = z.object({
  items: z
    .array(
      z.object({
        id: z.string(),
        status: z.string().optional(),
        recurringEventId: z.string().optional(),
      }),
    )
    .default([]),
  nextPageToken: z.string().optional(),
});

const cursorShape = z.object({
  /** Changes since then are listed; `null` while everything is listed. */
  syncToken: z.string().nullable(),
  pageToken: z.string().nullable(),
});
type Cursor = z.infer<typeof cursorShape>;

const BEGIN: Cursor = { syncToken: null, pageToken: null };

function parseCursor(cursor: string | null): Cursor {
  if (cursor === null) return BEGIN;
  try {
    return cursorShape.safeParse(JSON.parse(cursor)).data ?? BEGIN;
  } catch (error) {
    if (error instanceof SyntaxError) return BEGIN;
    throw error;
  }
}

/**
 * Follows the events of a Google calendar by sync tokens. Google reports a changed instance without
 * its series and the other instances, and a series without its instances. If a token is no longer
 * valid (410), everything is listed again.
 */
export class GoogleEventChanges {
  constructor(private readonly api: GoogleApi) {}

  /** See `CalendarPort.listEventChanges`. */
  async list(
    account: ProviderAccount,
    calendarId: string,
    cursor: string | null,
    limit: number,
  ): Promise<EventChanges> {
    const at = parseCursor(cursor);
    try {
      return await this.#page(account, calendarId, at, limit);
    } catch (error) {
      // 410: the token is too old. 400: a page token of a list that Google no longer has.
      const isOld = error instanceof GoogleError && [400, 410].includes(error.status);
      if (!isOld || (at.syncToken === null && at.pageToken === null)) throw error;
      return this.#page(account, calendarId, BEGIN, limit);
    }
  }

  async #page(
    account: ProviderAccount,
    calendarId: string,
    { syncToken, pageToken }: Cursor,
    limit: number,
  ): Promise<EventChanges> {
    const answer = await this.api.read(
      account,
      {
        method: 'GET',
        path: pathOf(calendarId),
        query: {
          maxResults: Math.min(limit, MOST_PER_PAGE),
          syncToken: syncToken ?? undefined,
          pageToken: pageToken ?? undefined,
        },
        ...COST,
      },
      page,
    );
    const { nextPageToken, nextSyncToken = null, timeZone } = answer;
    const more = nextPageToken !== undefined;
    const next: Cursor = more
      ? { syncToken, pageToken: nextPageToken }
      : { syncToken: nextSyncToken, pageToken: null };
    const isWhole = syncToken === null && !more;
    return {
      cursor: JSON.stringify(next),
      more,
      partial: true,
      ...sort(answer.items, calendarId, timeZone),
      present: isWhole ? await this.#allIds(account, calendarId) : null,
    };
  }

  /** The ids of everything that exists, cancelled instances included. */
  async #allIds(account: ProviderAccount, calendarId: string): Promise<string[]> {
    const ids: string[] = [];
    let pageToken: string | undefined;
    do {
      const query = {
        maxResults: MOST_PER_PAGE,
        fields: 'nextPageToken,items(id,status,recurringEventId)',
        pageToken,
      };
      const request = { method: 'GET', path: pathOf(calendarId), query, ...COST } as const;
      const answer = await this.api.read(account, request, idPage);
      for (const { id, status, recurringEventId } of answer.items) {
        if (status !== 'cancelled' || recurringEventId !== undefined)
          ids.push(EventIds.join(calendarId, id));
      }
      pageToken = answer.nextPageToken;
    } while (pageToken !== undefined);
    return ids;
  }
}

const pathOf = (calendarId: string) =>
  `/calendar/v3/calendars/${encodeURIComponent(calendarId)}/events`;

interface Sorted {
  events: RemoteEvent[];
  excluded: ExcludedInstance[];
  removed: string[];
}

/** An item that cannot be read is left out: it must not block the others. */
function sort(items: readonly unknown[], calendarId: string, zone: string): Sorted {
  const sorted: Sorted = { events: [], excluded: [], removed: [] };
  for (const item of items) {
    const event = googleEvent.safeParse(item).data;
    if (!event) continue;
    const providerId = EventIds.join(calendarId, event.id);
    const { recurringEventId: series, originalStartTime: start } = event;
    if (event.status !== 'cancelled') {
      const remote = remoteOf(event, calendarId, zone);
      if (remote) sorted.events.push(remote);
    } else if (series !== undefined && start) {
      const masterProviderId = EventIds.join(calendarId, series);
      const originalStartTime = startOf(start);
      sorted.excluded.push({ providerId, masterProviderId, originalStartTime });
    } else {
      sorted.removed.push(providerId);
    }
  }
  return sorted;
}

function remoteOf(event: GoogleEvent, calendarId: string, zone: string): RemoteEvent | null {
  const content = readEvent(event, zone);
  if (!content) return null;
  const { recurringEventId: series, originalStartTime: start, organizer } = event;
  const isInstance = series !== undefined && start !== undefined;
  const email = organizer?.email?.toLowerCase();
  return {
    providerId: EventIds.join(calendarId, event.id),
    icalUid: event.iCalUID ?? event.extendedProperties?.private?.[KEY_PROPERTY] ?? event.id,
    content: { ...content },
    masterProviderId: isInstance ? EventIds.join(calendarId, series) : null,
    originalStartTime: isInstance ? startOf(start) : null,
    organizer: email ? { email, name: organizer?.displayName ?? null } : null,
    sequence: event.sequence ?? 0,
  };
}
