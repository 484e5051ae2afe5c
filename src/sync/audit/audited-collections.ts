import type { ConnectedAccount } from '../../accounts/grants/provider-accounts.ts';
import type { FirstAudits } from '../../accounts/sync-schedule/mirror-audits.ts';
import type { ObjectDifferences } from '../../accounts/sync-schedule/mirror-audit.entity.ts';
import { absentEvents, presentEvents } from '../../calendar/events/mirror/absent-events.ts';
import type { MirrorCalendar } from '../../calendar/calendars/calendar-mirror.ts';
import { absentContacts, presentContacts } from '../../contacts/contact-mirror.ts';
import type { Sql } from '../../platform/database/sql.ts';
import type { CalendarPort, ContactChanges, ContactsPort } from '../../providers/port/connector.ts';
import type { ContactSync } from '../collections/contact-sync.ts';
import type { EventPage } from '../collections/event-page.ts';
import type { EventSync } from '../collections/event-sync.ts';
import type { MirrorClaim } from '../mirror.repository.ts';
import type { ListedObjects } from './listed-collections.ts';

/** One run of an audit of calendars and contacts. */
export interface CollectionRun {
  account: ConnectedAccount;
  calendar: CalendarPort | undefined;
  contacts: ContactsPort | undefined;
  claim: MirrorClaim;
  /** False for accounts with calendars or contacts only. */
  hasMailbox: boolean;
  /** Called between requests; `false` ends the run early. */
  goOn(): boolean;
  /** When audits begin that the account does not have yet. */
  first: FirstAudits;
}

/** A page of a full listing. */
export interface ListedPage {
  cursor: string;
  more: boolean;
  /** Number of listed objects. */
  size: number;
  /** The ids of the whole listing; `null` if another page has them. */
  present: readonly string[] | null;
  /**
   * Provider ids in the mirror that the listing does not contain.
   * @param beganAt when the listing began
   */
  absent(sql: Sql, beganAt: Date, limit: number): Promise<string[]>;
  /** Stores the objects of the page. Removes nothing that the page leaves out. */
  repair<T>(requestedAt: Date, onStored: Stored<T>): Promise<T>;
}

/** Called in the transaction that stored something, with the numbers of objects that differed. */
type Stored<T> = (sql: Sql, differences: ObjectDifferences) => Promise<T>;

/** A calendar or an address book that an audit compares. */
export interface AuditedCollection {
  kind: 'events' | 'contacts';
  /**
   * Stores the changes that the provider reports, as every sync pass does.
   * @returns `false` if the mirror does not have the whole collection yet
   */
  refresh(): Promise<boolean>;
  list(cursor: string | null): Promise<ListedPage>;
  /**
   * The stored objects of a listing of which the last page is stored.
   * @param present its provider ids
   */
  stored(sql: Sql, present: readonly string[]): Promise<ListedObjects>;
  remove<T>(providerIds: readonly string[], requestedAt: Date, onStored: Stored<T>): Promise<T>;
}

/** Objects that are requested at a time. */
const EVENTS_PAGE = 100;
const CONTACTS_PAGE = 500;

type ListedCalendars = CalendarPort & Required<Pick<CalendarPort, 'listEventChanges'>>;

/** Whether the provider has events of its own, so that they can be compared. */
export const canListEvents = (port: CalendarPort | undefined): port is ListedCalendars =>
  port?.listEventChanges !== undefined;

export function auditedCalendar(
  events: EventSync,
  port: ListedCalendars,
  calendar: MirrorCalendar,
  { account, claim }: CollectionRun,
): AuditedCollection {
  const store = <T>(changes: EventPage, requestedAt: Date, onStored: Stored<T>) =>
    events.repair(claim, { account, port, calendar, changes, requestedAt }, onStored);
  const nothing = { events: [], excluded: [], removed: [] };
  let isPartial = false;
  return {
    kind: 'events',
    async refresh() {
      if (calendar.eventsSince === null) return false;
      await events.run(account, port, calendar, claim);
      return true;
    },
    async list(cursor) {
      const page = await port.listEventChanges(account, calendar.providerId, cursor, EVENTS_PAGE);
      const { present } = page;
      isPartial = page.partial ?? false;
      return {
        cursor: page.cursor,
        more: page.more,
        size: page.events.length,
        present,
        absent: async (sql, beganAt, limit) =>
          present === null
            ? []
            : absentEvents(sql, calendar.id, { present, partial: isPartial, beganAt }, limit),
        repair: (requestedAt, onStored) => store(page, requestedAt, onStored),
      };
    },
    stored: (sql, present) => presentEvents(sql, calendar.id, { present, partial: isPartial }),
    remove: (removed, requestedAt, onStored) =>
      store({ ...nothing, partial: isPartial, removed }, requestedAt, onStored),
  };
}

export function auditedBook(
  book: ContactSync,
  port: ContactsPort,
  { account, claim, goOn }: CollectionRun,
): AuditedCollection {
  const store = <T>(
    changes: Pick<ContactChanges, 'contacts' | 'removed'>,
    requestedAt: Date,
    onStored: Stored<T>,
  ) => book.repair(claim, { account, port, changes, requestedAt }, onStored);
  return {
    kind: 'contacts',
    refresh: () => book.refresh(account, port, claim, goOn),
    async list(cursor) {
      const page = await port.listContactChanges(account, cursor, CONTACTS_PAGE);
      const { present } = page;
      return {
        cursor: page.cursor,
        more: page.more,
        size: page.contacts.length,
        present,
        absent: async (sql, beganAt, limit) =>
          present === null
            ? []
            : absentContacts(sql, account.accountId, { present, beganAt, limit }),
        repair: (requestedAt, onStored) => store(page, requestedAt, onStored),
      };
    },
    stored: (sql, present) => presentContacts(sql, account.accountId, present),
    remove: (removed, requestedAt, onStored) =>
      store({ contacts: [], removed }, requestedAt, onStored),
  };
}
