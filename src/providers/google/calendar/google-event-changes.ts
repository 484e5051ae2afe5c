import { z } from 'zod';
import type {
  EventChanges,
  ExcludedInstance,
  ProviderAccount,
  RemoteEvent,
  UnreadObject,
} from '../../port/connector.ts';
import { readCursor } from '../../rest/cursor.ts';
import { googlePages, listedOnce } from '../google-api.ts';
import type { CalendarApi } from './google-calendar-api.ts';
import { GoogleError } from '../google-error.ts';
import { EventIds } from './google-event-ids.ts';
import {
  fixedType,
  type GoogleEvent,
  googleEvent,
  isAsDefined,
  readEvent,
  RESET_PROPERTY,
  startOf,
} from './google-event.ts';

const MOST_PER_PAGE = 2_500;

const page = z.object({
  items: z.array(z.unknown()).default([]),
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
        extendedProperties: googleEvent.shape.extendedProperties,
      }),
    )
    .default([]),
  nextPageToken: z.string().optional(),
});

const cursorShape = z.object({
  /** Changes since then are listed; `null` while everything is listed. */
  syncToken: z.string().nullable(),
  pageToken: z.string().nullable(),
  /** Size of the first page of a list, which the following ones should have as well. */
  size: z.number().int().positive().optional(),
});
type Cursor = z.infer<typeof cursorShape>;

const BEGIN: Cursor = { syncToken: null, pageToken: null };

/**
 * Follows the events of a Google calendar by sync tokens. Google reports a changed instance without
 * its series and the other instances, and a series without its instances. If a token is no longer
 * valid (410), everything is listed again.
 */
export class GoogleEventChanges {
  constructor(private readonly api: CalendarApi) {}

  /** See `CalendarPort.listEventChanges`. */
  async list(
    account: ProviderAccount,
    calendarId: string,
    cursor: string | null,
    limit: number,
  ): Promise<EventChanges> {
    const at = readCursor(cursor, cursorShape) ?? BEGIN;
    try {
      return await this.#page(account, calendarId, limit, at);
    } catch (error) {
      // 410: the token is too old. 400: a token or a list that Google does not know.
      const isOld =
        error instanceof GoogleError && [400, 410].includes(error.status) && !error.isPassing;
      if (!isOld || (at.syncToken === null && at.pageToken === null)) throw error;
      return this.#page(account, calendarId, limit, BEGIN);
    }
  }

  async #page(
    account: ProviderAccount,
    calendarId: string,
    limit: number,
    { syncToken, pageToken, size = Math.min(limit, MOST_PER_PAGE) }: Cursor,
  ): Promise<EventChanges> {
    const answer = await this.api.read(
      account,
      {
        method: 'GET',
        path: pathOf(calendarId),
        query: {
          maxResults: size,
          syncToken: syncToken ?? undefined,
          pageToken: pageToken ?? undefined,
        },
      },
      page,
    );
    const { nextPageToken, nextSyncToken = null } = answer;
    const more = nextPageToken !== undefined;
    const next: Cursor = more
      ? { syncToken, pageToken: nextPageToken, size }
      : { syncToken: nextSyncToken, pageToken: null };
    const isWhole = syncToken === null && !more;
    return {
      cursor: JSON.stringify(next),
      more,
      partial: true,
      ...sort(answer.items, calendarId, account),
      present: isWhole ? await listedOnce(() => this.#allIds(account, calendarId)) : null,
    };
  }

  /**
   * The ids of everything that exists, cancelled instances included, and without instances that
   * were reset.
   */
  async #allIds(account: ProviderAccount, calendarId: string): Promise<string[]> {
    const ids: string[] = [];
    const pages = googlePages((pageToken) => {
      const query = {
        maxResults: MOST_PER_PAGE,
        fields: 'nextPageToken,items(id,status,recurringEventId,extendedProperties/private)',
        pageToken,
      };
      const request = { method: 'GET', path: pathOf(calendarId), query } as const;
      return this.api.read(account, request, idPage);
    });
    for await (const { items } of pages) {
      for (const item of items) {
        const { id, status, recurringEventId, extendedProperties } = item;
        if (status === 'cancelled' && recurringEventId === undefined) continue;
        const isMarked = extendedProperties?.private?.[RESET_PROPERTY] !== undefined;
        if (isMarked && (await this.#isReset(account, calendarId, id))) continue;
        ids.push(EventIds.join(calendarId, id));
      }
    }
    return ids;
  }

  async #isReset(account: ProviderAccount, calendarId: string, id: string): Promise<boolean> {
    const path = `${pathOf(calendarId)}/${encodeURIComponent(id)}`;
    return isAsDefined(await this.api.read(account, { method: 'GET', path }, googleEvent));
  }
}

const pathOf = (calendarId: string) => `/calendars/${encodeURIComponent(calendarId)}/events`;

interface Sorted {
  events: RemoteEvent[];
  excluded: ExcludedInstance[];
  removed: string[];
  read: string[];
  unread: UnreadObject[];
}

const named = z.object({ id: z.string() });

/** An item that cannot be read must not block the others. */
function sort(items: readonly unknown[], calendarId: string, account: ProviderAccount): Sorted {
  const sorted: Sorted = { events: [], excluded: [], removed: [], read: [], unread: [] };
  for (const item of items) {
    const { data: event, error } = googleEvent.safeParse(item);
    if (!event) {
      const id = named.safeParse(item).data?.id;
      const [issue] = error.issues;
      const reason = `Google: the event has an unexpected form (${issue?.path.join('.') ?? ''})`;
      if (id !== undefined)
        sorted.unread.push({ providerId: EventIds.join(calendarId, id), reason });
      continue;
    }
    const providerId = EventIds.join(calendarId, event.id);
    sorted.read.push(providerId);
    const { recurringEventId: series, originalStartTime: start } = event;
    if (event.status === 'cancelled' && series !== undefined && start) {
      const masterProviderId = EventIds.join(calendarId, series);
      const originalStartTime = startOf(start);
      sorted.excluded.push({ providerId, masterProviderId, originalStartTime });
    } else if (event.status === 'cancelled' || isAsDefined(event)) {
      sorted.removed.push(providerId);
    } else {
      const remote = remoteOf(event, calendarId, account);
      if (remote) sorted.events.push(remote);
    }
  }
  // Google also cancels the changed instances of a deleted series.
  const removed = new Set(sorted.removed);
  const excluded = sorted.excluded.filter((one) => !removed.has(one.masterProviderId));
  return { ...sorted, excluded };
}

function remoteOf(
  event: GoogleEvent,
  calendarId: string,
  account: ProviderAccount,
): RemoteEvent | null {
  const content = readEvent(event);
  if (!content) return null;
  const { recurringEventId: series, originalStartTime: start, organizer } = event;
  const isInstance = series !== undefined && start !== undefined;
  const email = organizer?.email?.toLowerCase();
  // Google often leaves out the name of the user.
  const known = email === account.email && account.name !== '' ? account.name : null;
  return {
    providerId: EventIds.join(calendarId, event.id),
    icalUid: event.iCalUID ?? event.id,
    key: EventIds.keyOf(event.id),
    content: { ...content },
    masterProviderId: isInstance ? EventIds.join(calendarId, series) : null,
    originalStartTime: isInstance ? startOf(start) : null,
    organizer: email ? { email, name: organizer?.displayName ?? known } : null,
    sequence: event.sequence ?? 0,
    readOnly: fixedType(event) !== null,
  };
}
