import { z } from 'zod';
import type {
  CalendarContent,
  ProviderAccount,
  RemoteCalendar,
  RemoteRoom,
} from '../../port/connector.ts';
import { ignoreGone } from '../../rest/gone.ts';
import type { CalendarApi } from './google-calendar-api.ts';
import { googlePages } from '../google-api.ts';

const calendarEntry = z.object({
  id: z.string(),
  summary: z.string().default(''),
  summaryOverride: z.string().optional(),
  description: z.string().optional(),
  location: z.string().optional(),
  timeZone: z.string().optional(),
  accessRole: z.string().default('reader'),
  primary: z.boolean().default(false),
});
type CalendarEntry = z.infer<typeof calendarEntry>;

const calendarList = z.object({
  items: z.array(calendarEntry).default([]),
  nextPageToken: z.string().optional(),
});
const createdCalendar = z.object({ id: z.string() });

/** Ends the description of a calendar that was created with a key, until it is changed. */
const MARK = 'carillon:';
const MARKED = /\s*carillon:([\da-f-]{36})\s*$/;
/** Roles that may change events. */
const WRITERS: readonly string[] = ['owner', 'writer'];
/** Rooms have addresses of this domain. */
const ROOM = /@resource\.calendar\.google\.com$/i;

/** The calendars of an account, and the rooms among them. See `CalendarPort`. */
export class GoogleCalendars {
  constructor(private readonly api: CalendarApi) {}

  /** All calendars whose events the account may read: busy times alone are no calendar. */
  async list(account: ProviderAccount): Promise<readonly RemoteCalendar[]> {
    const entries = await this.#entries(account, 'reader');
    return entries.map((one) => ({
      providerId: one.id,
      name: one.summaryOverride ?? one.summary,
      description: (one.description ?? '').replace(MARKED, '') || null,
      location: one.location || null,
      timezone: one.timeZone ?? null,
      isPrimary: one.primary,
      readOnly: !WRITERS.includes(one.accessRole),
    }));
  }

  /**
   * Creates a calendar. Google has no place for a key but the description, so the key stands there
   * until the calendar is changed for the first time.
   */
  async create(account: ProviderAccount, key: string, calendar: CalendarContent) {
    const owned = await this.#entries(account, 'owner');
    const there = owned.find(({ description = '' }) => MARKED.exec(description)?.[1] === key);
    if (there) return { providerId: there.id };
    const { description, ...settings } = settingsOf(calendar);
    const json = { ...settings, description: `${description}\n\n${MARK}${key}`.trim() };
    // A repetition first looks for the key.
    const request = { method: 'POST', path: '/calendars', json, repeatable: true } as const;
    const { id } = await this.api.read(account, request, createdCalendar);
    return { providerId: id };
  }

  /** @throws {ProviderError} `not-found` */
  async update(account: ProviderAccount, providerId: string, calendar: CalendarContent) {
    const json = settingsOf(calendar);
    const request = { method: 'PATCH', path: pathOf(providerId), json, repeatable: true } as const;
    await this.api.unlessPassing(account, pathOf(providerId), this.api.send(account, request));
  }

  async remove(account: ProviderAccount, providerId: string): Promise<void> {
    const path = pathOf(providerId);
    const deleting = this.api.send(account, { method: 'DELETE', path });
    await ignoreGone(this.api.unlessPassing(account, path, deleting));
  }

  /** The rooms whose calendars the account has in its list. */
  async rooms(account: ProviderAccount, signal: AbortSignal): Promise<readonly RemoteRoom[]> {
    const entries = await this.#entries(account, 'freeBusyReader', signal);
    return entries
      .filter(({ id }) => ROOM.test(id))
      .map(({ id, summary, summaryOverride }) => ({
        email: id.toLowerCase(),
        name: summaryOverride ?? summary,
        capacity: '',
        building: '',
        floorName: '',
        floorNumber: '',
      }));
  }

  async #entries(
    account: ProviderAccount,
    minAccessRole: string,
    signal?: AbortSignal,
  ): Promise<CalendarEntry[]> {
    const entries: CalendarEntry[] = [];
    const pages = googlePages((pageToken) => {
      const query = { maxResults: 250, minAccessRole, pageToken };
      const cancelled = signal ? { signal } : {};
      const path = '/users/me/calendarList';
      const request = { method: 'GET', path, query, ...cancelled } as const;
      return this.api.read(account, request, calendarList);
    });
    for await (const { items } of pages) entries.push(...items);
    return entries;
  }
}

const pathOf = (calendarId: string): string => `/calendars/${encodeURIComponent(calendarId)}`;

function settingsOf({ name, description, location, timezone }: CalendarContent) {
  return {
    summary: name,
    description: description ?? '',
    location: location ?? '',
    ...(timezone === null ? {} : { timeZone: timezone }),
  };
}
