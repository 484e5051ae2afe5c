import { z } from 'zod';
import type {
  CalendarContent,
  CalendarPort,
  EventContent,
  EventResponse,
  EventUpdateOptions,
  EventWriteOptions,
  FreeBusyRequest,
  InstancePosition,
  NotifyOption,
  PersonBusy,
  ProviderAccount,
  RemoteCalendar,
} from '../../port/connector.ts';
import type { GoogleApi } from '../google-api.ts';
import { CalendarApi } from './google-calendar-api.ts';
import { GoogleCalendars } from './google-calendars.ts';
import { GoogleError } from '../google-error.ts';
import { roomsOfDirectory } from './google-rooms.ts';
import { ROOMS_SCOPE } from '../google.scopes.ts';
import { GoogleEventChanges } from './google-event-changes.ts';
import { storedForm, writable } from './google-event-write.ts';
import { GoogleEventWriter } from './google-event-writer.ts';
import { GoogleInstances } from './google-instances.ts';

const busyAnswer = z.object({
  calendars: z
    .record(
      z.string(),
      z.object({
        busy: z.array(z.object({ start: z.string(), end: z.string() })).default([]),
        errors: z.array(z.object({ reason: z.string().default('unknown') })).default([]),
      }),
    )
    .default({}),
});

const BUSY_REASONS: Readonly<Record<string, string>> = {
  notFound: 'Google does not know this address, or does not show its times to this account',
  groupTooBig: 'the group has too many members',
};

/**
 * Google Calendar. The `providerId` of a calendar is Google's; that of an event is the calendar's,
 * a slash, and Google's, because Google's is unique in a calendar only.
 */
export class GoogleCalendar implements CalendarPort {
  readonly mailsParticipants = 'on-request';
  readonly conferencing = ['Google Meet'] as const;
  readonly #api: CalendarApi;
  readonly #calendars: GoogleCalendars;
  readonly #changes: GoogleEventChanges;
  readonly #writer: GoogleEventWriter;

  constructor(
    api: GoogleApi,
    private readonly directory: GoogleApi,
  ) {
    this.#api = new CalendarApi(api);
    this.#calendars = new GoogleCalendars(this.#api);
    this.#changes = new GoogleEventChanges(this.#api);
    this.#writer = new GoogleEventWriter(this.#api, new GoogleInstances(this.#api));
  }

  asStored(_account: Pick<ProviderAccount, 'email' | 'name'>, event: EventContent): EventContent {
    return { ...storedForm(writable(event)) };
  }

  /** An account whose user has not agreed to calendars has none. */
  async listCalendars(account: ProviderAccount): Promise<readonly RemoteCalendar[]> {
    try {
      return await this.#calendars.list(account);
    } catch (error) {
      if (error instanceof GoogleError && error.isWithoutConsent) return [];
      throw error;
    }
  }

  createCalendar(account: ProviderAccount, key: string, calendar: CalendarContent) {
    return this.#calendars.create(account, key, calendar);
  }

  updateCalendar(account: ProviderAccount, providerId: string, calendar: CalendarContent) {
    return this.#calendars.update(account, providerId, calendar);
  }

  deleteCalendar(account: ProviderAccount, providerId: string) {
    return this.#calendars.remove(account, providerId);
  }

  listEventChanges(
    account: ProviderAccount,
    calendarProviderId: string,
    cursor: string | null,
    limit: number,
  ) {
    return this.#changes.list(account, calendarProviderId, cursor, limit);
  }

  createEvent(
    account: ProviderAccount,
    calendarProviderId: string,
    key: string,
    event: EventContent,
    options?: EventWriteOptions,
  ) {
    return this.#writer.create(account, calendarProviderId, key, event, options);
  }

  updateEvent(
    account: ProviderAccount,
    providerId: string,
    event: EventContent,
    options?: EventUpdateOptions,
  ) {
    return this.#writer.update(account, providerId, event, options);
  }

  deleteEvent(account: ProviderAccount, providerId: string, options?: NotifyOption) {
    return this.#writer.remove(account, providerId, options);
  }

  writeInstance(
    account: ProviderAccount,
    instance: InstancePosition,
    event: EventContent,
    options?: EventUpdateOptions,
  ) {
    return this.#writer.writeInstance(account, instance, event, options);
  }

  deleteInstance(account: ProviderAccount, instance: InstancePosition, options?: NotifyOption) {
    return this.#writer.removeInstance(account, instance, options);
  }

  resetInstance(account: ProviderAccount, providerId: string) {
    return this.#writer.reset(account, providerId);
  }

  respond(account: ProviderAccount, providerId: string, response: EventResponse) {
    return this.#writer.respond(account, providerId, response);
  }

  /** The rooms of the directory if the account may read it, else those in its list of calendars. */
  rooms(account: ProviderAccount, signal: AbortSignal) {
    return account.providerScopes?.includes(ROOMS_SCOPE)
      ? roomsOfDirectory(this.directory, account, signal)
      : this.#calendars.rooms(account, signal);
  }

  async freeBusy(
    account: ProviderAccount,
    { emails, start, end, signal }: FreeBusyRequest,
  ): Promise<readonly PersonBusy[]> {
    const json = {
      timeMin: new Date(start * 1000).toISOString(),
      timeMax: new Date(end * 1000).toISOString(),
      items: emails.map((id) => ({ id })),
    };
    const request = {
      method: 'POST',
      path: '/freeBusy',
      json,
      repeatable: true,
      signal,
    } as const;
    const { calendars } = await this.#api.read(account, request, busyAnswer);
    return emails.flatMap((email): PersonBusy[] => {
      const found = calendars[email];
      if (!found) return [];
      const [error] = found.errors;
      if (error) return [{ email, unknown: BUSY_REASONS[error.reason] ?? error.reason }];
      const busy = found.busy.map((one) => ({
        start: Math.floor(Date.parse(one.start) / 1000),
        end: Math.ceil(Date.parse(one.end) / 1000),
      }));
      return [{ email, busy }];
    });
  }
}
