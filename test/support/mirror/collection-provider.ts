import type {
  CalendarPort,
  ContactsPort,
  EventContent,
  ProviderAccount,
} from '../../../src/providers/port/connector.ts';

/** A provider of calendars and contacts. */
export interface CollectionProvider {
  /** Name of the connector whose ports these are. */
  name: string;
  calendar: CalendarPort;
  contacts: ContactsPort;
  /**
   * Whether a pass must find no open provider write. It keeps its cursor until the write has ended,
   * and from that cursor the provider does not report an event that has come and gone meanwhile:
   * only the audit finds it. Default: false.
   */
  writesFirst?: boolean;
  /** Makes a person with a calendar and an address book. */
  addPerson(): Promise<Pick<ProviderAccount, 'email' | 'settings'>>;
  /** The provider forgets the changes that it has reported so far. */
  forgetChanges(person: Pick<ProviderAccount, 'email'>): void;
  stop(): Promise<void>;
}

/** An event of an hour, or a series of them. @param rrule without `RRULE:` */
export const eventOf = (title: string, start: number, rrule?: string): EventContent => ({
  title,
  when: {
    object: 'timespan',
    start_time: start,
    end_time: start + 3600,
    start_timezone: 'Europe/Berlin',
    end_timezone: 'Europe/Berlin',
  },
  ...(rrule && { recurrence: { rrule: [`RRULE:${rrule}`], timezone: 'Europe/Berlin' } }),
});
