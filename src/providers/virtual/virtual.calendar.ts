import type {
  CalendarContent,
  CalendarPort,
  InstancePosition,
  ProviderAccount,
} from '../port/connector.ts';

/** Domain of the UIDs of events created in virtual calendars. */
const UID_DOMAIN = 'virtual.calendar';

/**
 * Calendars of accounts without a provider. The mirror is the only copy and already contains every
 * change when these methods are called, so they store nothing and never fail. Keys serve as ids, so
 * that a repeated call returns the same id.
 */
export class VirtualCalendars implements CalendarPort {
  async listCalendars() {
    return [];
  }

  async createCalendar(_account: ProviderAccount, key: string) {
    return { providerId: key };
  }

  async updateCalendar() {}

  async deleteCalendar() {}

  async createEvent(_account: ProviderAccount, _calendarProviderId: string, key: string) {
    return { providerId: key, icalUid: `${key}@${UID_DOMAIN}` };
  }

  async updateEvent() {
    return {};
  }

  async deleteEvent() {}

  async writeInstance(_account: ProviderAccount, { series, start }: InstancePosition) {
    return { providerId: `${series}_${start}`, icalUid: `${series}@${UID_DOMAIN}` };
  }

  async deleteInstance() {}

  async resetInstance() {}
}

/** The primary calendar of a new account, named after its address. */
export function primaryCalendar({ email }: Pick<ProviderAccount, 'email'>): CalendarContent {
  return { name: email, description: null, location: null, timezone: null };
}
