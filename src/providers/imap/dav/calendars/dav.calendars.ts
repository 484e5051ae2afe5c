import { Logger } from '@nestjs/common';
import { DAVNamespace, getDAVAttribute } from 'tsdav';
import type { EgressClient } from '../../../../platform/egress/egress-client.ts';
import type { Clock } from '../../../../platform/base/time/clock.ts';
import type {
  CalendarContent,
  CalendarPort,
  EventContent,
  EventUpdateOptions,
  EventWriteOptions,
  InstancePosition,
  ProviderAccount,
  RemoteEvent,
  UnreadObject,
} from '../../../port/connector.ts';
import { ProviderError } from '../../../../platform/base/errors/provider-error.ts';
import {
  CALENDAR_PROPS,
  isEventCalendar,
  optionalProps,
  readCalendar,
  xmlText,
} from './dav-calendar-props.ts';
import { collectionChanges } from '../dav-changes.ts';
import { CALENDAR_OBJECTS } from './dav-objects.ts';
import { ignoreNotFound } from '../dav-error.ts';
import { DavAccounts } from '../dav-accounts.ts';
import { DavEvents } from './dav-events.ts';
import type { DavObject, DavSession } from '../dav-session.ts';
import type { DavAnswer } from '../dav-xml.ts';
import { idOf } from './dav-event-object.ts';
import { task } from '../../../../platform/threads/task.ts';
import type { WorkThreads } from '../../../../platform/threads/work-threads.ts';
import { WorkLimitError } from '../../../../platform/threads/work-errors.ts';

const MB = 2 ** 20;
/** An ordinary object takes less than a millisecond. */
const READ = task<typeof import('./read-objects.ts')>()(
  import.meta.url,
  './read-objects',
  'readCalendarObject',
  { lane: 'short', timeMs: 3_000, inputBytes: 4 * MB, outputBytes: 16 * MB },
);

/**
 * Prefix of calendars that Carillon created. Such a calendar is chosen as the primary one only if
 * there is no other.
 */
const OURS = 'carillon-';
/** Last path segments of calendars that servers create automatically. */
const USUAL_FIRST = ['default', 'calendar', 'personal', 'home', 'events'];

const gone = (what: string) => new ProviderError('not-found', `The ${what} does not exist`);

/**
 * The calendars of an account on a CalDAV server (RFC 4791). A `providerId` is a path on the
 * server. The `providerId` of a changed instance is the path of its series, `#` and the instance.
 * An account without a CalDAV URL has no calendars, and provider writes are `unsupported`.
 */
export class DavCalendars implements CalendarPort {
  readonly #accounts: DavAccounts;
  readonly #events: DavEvents;
  readonly #log = new Logger(DavCalendars.name);

  constructor(
    egress: EgressClient,
    clock: Clock,
    private readonly threads: WorkThreads,
  ) {
    this.#accounts = new DavAccounts('caldav', { egress, clock, threads });
    this.#events = new DavEvents(clock);
  }

  asStored(account: Pick<ProviderAccount, 'email' | 'name'>, event: EventContent) {
    return this.#events.asStored(account, event);
  }

  hasCalendars(account: ProviderAccount) {
    return this.#accounts.has(account);
  }

  async listCalendars(account: ProviderAccount) {
    if (!this.hasCalendars(account)) return [];
    return this.#accounts.run(account, async (session) => {
      const responses = await session.propfind(session.home.pathname, CALENDAR_PROPS, '1');
      const calendars = responses
        .filter(isEventCalendar)
        .map(({ href, props }) => readCalendar(session.collectionOf(href), props))
        .toSorted((a, b) => (a.providerId < b.providerId ? -1 : 1));
      const primary = primaryOf(calendars.map(({ providerId }) => providerId));
      return calendars.map((one) => ({ ...one, isPrimary: one.providerId === primary }));
    });
  }

  async listEventChanges(
    account: ProviderAccount,
    calendarProviderId: string,
    cursor: string | null,
    limit: number,
  ) {
    return this.#accounts.run(account, async (session) => {
      const path = ownPath(session, calendarProviderId, 'calendar');
      const changes = await collectionChanges(session, path, CALENDAR_OBJECTS, cursor, limit);
      const { more, removed, present } = changes;
      const { events, unread } = await this.#read(account, changes.changed);
      const missing = changes.unread.map(({ path, reason }) => this.#note(account, path, reason));
      return {
        cursor: changes.cursor,
        more,
        events,
        removed,
        present,
        read: changes.changed.map(({ path: one }) => one),
        unread: [...unread, ...missing],
      };
    });
  }

  /** Reads objects in worker threads, because they are untrusted input. */
  async #read(
    account: ProviderAccount,
    objects: readonly DavObject[],
  ): Promise<{ events: RemoteEvent[]; unread: UnreadObject[] }> {
    const inputs = objects.map(({ path, text }) => ({ path, text }));
    const results = await this.threads.runAll(READ, account.accountId, inputs, { patient: true });
    const [events, unread]: [RemoteEvent[], UnreadObject[]] = [[], []];
    for (const [index, result] of results.entries()) {
      const path = objects[index]?.path ?? '';
      if ('error' in result) {
        if (result.error instanceof WorkLimitError && result.error.limit === 'closed')
          throw new ProviderError('temporary', 'The server is stopping', { cause: result.error });
        unread.push(this.#note(account, path, result.error.message));
      } else if ('unreadable' in result.output)
        unread.push(this.#note(account, path, result.output.unreadable));
      else {
        events.push(...result.output.events);
        const { problems } = result.output;
        if (problems.length > 0) unread.push(this.#note(account, path, problems.join('. ')));
      }
    }
    return { events, unread };
  }

  #note(account: ProviderAccount, path: string, reason: string): UnreadObject {
    this.#log.warn(`account ${account.accountId}: ${path} cannot be read completely: ${reason}`);
    return { providerId: path, reason };
  }

  async createCalendar(account: ProviderAccount, key: string, calendar: CalendarContent) {
    return this.#accounts.run(account, async (session) => {
      const path = `${session.pathOf(session.home.href)}${OURS}${encodeURIComponent(key)}/`;
      const prop = {
        'd:displayname': xmlText(calendar.name),
        'c:supported-calendar-component-set': { 'c:comp': { _attributes: { name: 'VEVENT' } } },
      };
      try {
        const body = { 'c:mkcalendar': { ...namespaces(), 'd:set': { 'd:prop': prop } } };
        assertTaken(await session.change('MKCALENDAR', path, body), 'the calendar');
      } catch (error) {
        // The calendar may exist from an earlier attempt, perhaps with older content.
        if (!(error instanceof ProviderError) || !(await exists(session, path))) throw error;
        await setProps(session, path, { 'd:displayname': xmlText(calendar.name) });
      }
      await this.#writeOptional(account, session, path, calendar);
      return { providerId: path };
    });
  }

  async updateCalendar(account: ProviderAccount, providerId: string, calendar: CalendarContent) {
    await this.#accounts.run(account, async (session) => {
      const path = ownPath(session, providerId, 'calendar');
      if (!(await exists(session, path))) throw gone('calendar');
      await setProps(session, path, { 'd:displayname': xmlText(calendar.name) });
      await this.#writeOptional(account, session, path, calendar);
    });
  }

  async deleteCalendar(account: ProviderAccount, providerId: string) {
    await this.#accounts.run(account, async (session) => {
      if (!session.owns(providerId)) return;
      await session.remove(providerId, null).catch(ignoreNotFound);
    });
  }

  async createEvent(
    account: ProviderAccount,
    calendarProviderId: string,
    key: string,
    event: EventContent,
    { sequence = 0 }: EventWriteOptions = {},
  ) {
    return this.#accounts.run(account, async (session) => {
      const calendar = ownPath(session, calendarProviderId, 'calendar');
      try {
        return await this.#events.create(session, account, calendar, key, event, sequence);
      } catch (error) {
        // Servers report a missing parent collection in different ways.
        if (
          error instanceof ProviderError &&
          error.code !== 'not-found' &&
          !(await exists(session, calendar))
        )
          throw gone('calendar');
        throw error;
      }
    });
  }

  async updateEvent(
    account: ProviderAccount,
    providerId: string,
    event: EventContent,
    { base = null, sequence = 0 }: EventUpdateOptions = {},
  ) {
    return this.#accounts.run(account, async (session) => {
      const { path, instance } = idOf(providerId);
      const target = { path: ownPath(session, path, 'event'), instance };
      return this.#events.update(session, account, target, { content: event, base, sequence });
    });
  }

  async deleteEvent(account: ProviderAccount, providerId: string) {
    await this.#accounts.run(account, async (session) => {
      const { path, instance } = idOf(providerId);
      if (session.owns(path))
        await this.#events.remove(session, { path, instance }).catch(ignoreNotFound);
    });
  }

  async writeInstance(
    account: ProviderAccount,
    { series, start }: InstancePosition,
    event: EventContent,
    { base = null, sequence = 0 }: EventUpdateOptions = {},
  ) {
    return this.#accounts.run(account, async (session) => {
      const target = { path: ownPath(session, series, 'event'), instance: start };
      return this.#events.writeInstance(session, account, target, {
        content: event,
        base,
        sequence,
      });
    });
  }

  async deleteInstance(account: ProviderAccount, { series, start }: InstancePosition) {
    await this.#accounts.run(account, async (session) => {
      const target = { path: series, instance: start };
      if (session.owns(series))
        await this.#events.deleteInstance(session, target).catch(ignoreNotFound);
    });
  }

  async resetInstance(account: ProviderAccount, providerId: string) {
    await this.#accounts.run(account, async (session) => {
      const { path, instance } = idOf(providerId);
      if (instance === null || !session.owns(path)) return;
      await this.#events.resetInstance(session, { path, instance }).catch(ignoreNotFound);
    });
  }

  /**
   * Writes description and time zone. Not every server stores them, and a calendar is usable
   * without them.
   */
  async #writeOptional(
    account: ProviderAccount,
    session: DavSession,
    path: string,
    calendar: CalendarContent,
  ): Promise<void> {
    for (const prop of optionalProps(calendar)) {
      try {
        await setProps(session, path, prop);
      } catch (error) {
        if (!(error instanceof ProviderError) || !['rejected', 'unsupported'].includes(error.code))
          throw error;
        this.#log.log(
          `account ${account.accountId}: its server does not store ${Object.keys(prop).join()}; continuing without`,
        );
      }
    }
  }
}

const namespaces = () => ({
  _attributes: getDAVAttribute([DAVNamespace.DAV, DAVNamespace.CALDAV, DAVNamespace.CALDAV_APPLE]),
});

/** A path that is not below the account's home does not belong to the account. */
function ownPath(session: DavSession, path: string, what: string): string {
  if (!session.owns(path)) throw gone(what);
  return path;
}

/**
 * Chooses the primary calendar: the one with a usual name of a first calendar; otherwise the first
 * that Carillon did not create; otherwise the first.
 */
function primaryOf(paths: readonly string[]): string | undefined {
  const name = (path: string) => decodeURIComponent(path.split('/').at(-2) ?? '').toLowerCase();
  const theirs = paths.filter((path) => !name(path).startsWith(OURS));
  return theirs.find((path) => USUAL_FIRST.includes(name(path))) ?? theirs[0] ?? paths[0];
}

async function exists(session: DavSession, path: string): Promise<boolean> {
  try {
    const [found] = await session.propfind(path, { 'd:resourcetype': {} }, '0');
    return found !== undefined && found.ok && Object.keys(found.props).length > 0;
  } catch (error) {
    if (error instanceof ProviderError && ['not-found', 'rejected'].includes(error.code))
      return false;
    throw error;
  }
}

/** @throws {ProviderError} `rejected` if the server does not store the property */
async function setProps(
  session: DavSession,
  path: string,
  prop: Record<string, string | object>,
): Promise<void> {
  const body = { propertyupdate: { ...namespaces(), 'd:set': { 'd:prop': prop } } };
  assertTaken(await session.change('PROPPATCH', path, body), Object.keys(prop).join());
}

/** Servers report refusals of single properties inside the response. */
function assertTaken({ hasRefusals }: DavAnswer, what: string): void {
  if (hasRefusals) throw new ProviderError('rejected', `The server does not accept ${what}`);
}
