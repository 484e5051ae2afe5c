const BASE = 'https://www.googleapis.com/auth/';

/** A scope by its short name, such as `gmail.modify`. */
export function scope(name: string): string {
  return name === 'mail' ? 'https://mail.google.com/' : BASE + name;
}

const scopes = (...names: string[]): readonly string[] => names.map(scope);

/** Scopes of which a method needs any one, as the manuals of the interfaces list them. */
export const NEEDS = {
  /** Messages with their content, labels, threads, drafts and history. */
  mailRead: scopes('mail', 'gmail.modify', 'gmail.readonly'),
  /** As before, without content. */
  mailMetadata: scopes('mail', 'gmail.modify', 'gmail.readonly', 'gmail.metadata'),
  mailModify: scopes('mail', 'gmail.modify'),
  /** Deletion for good. */
  mailAll: scopes('mail'),
  mailInsert: scopes('mail', 'gmail.modify', 'gmail.insert'),
  mailSend: scopes('mail', 'gmail.modify', 'gmail.compose', 'gmail.send'),
  mailCompose: scopes('mail', 'gmail.modify', 'gmail.compose'),
  draftsRead: scopes('mail', 'gmail.modify', 'gmail.compose', 'gmail.readonly'),
  profile: scopes('mail', 'gmail.modify', 'gmail.compose', 'gmail.readonly', 'gmail.metadata'),
  labelsRead: scopes('mail', 'gmail.modify', 'gmail.readonly', 'gmail.labels', 'gmail.metadata'),
  labelsWrite: scopes('mail', 'gmail.modify', 'gmail.labels'),
  sendAs: scopes('mail', 'gmail.modify', 'gmail.readonly', 'gmail.settings.basic'),
  calendarsRead: scopes(
    'calendar',
    'calendar.readonly',
    'calendar.calendars',
    'calendar.calendars.readonly',
  ),
  calendarsWrite: scopes('calendar', 'calendar.calendars', 'calendar.app.created'),
  calendarListRead: scopes(
    'calendar',
    'calendar.readonly',
    'calendar.calendarlist',
    'calendar.calendarlist.readonly',
  ),
  calendarListWrite: scopes('calendar', 'calendar.calendarlist'),
  calendarSettings: scopes('calendar', 'calendar.readonly', 'calendar.settings.readonly'),
  eventsRead: scopes(
    'calendar',
    'calendar.readonly',
    'calendar.events',
    'calendar.events.readonly',
    'calendar.events.owned',
  ),
  eventsWrite: scopes('calendar', 'calendar.events', 'calendar.events.owned'),
  freeBusy: scopes(
    'calendar',
    'calendar.readonly',
    'calendar.freebusy',
    'calendar.events.freebusy',
  ),
  contactsRead: scopes('contacts', 'contacts.readonly'),
  contactsWrite: scopes('contacts'),
  otherContacts: scopes('contacts.other.readonly'),
  profileRead: scopes('contacts', 'contacts.readonly', 'userinfo.profile', 'userinfo.email'),
  rooms: scopes('admin.directory.resource.calendar.readonly', 'admin.directory.resource.calendar'),
  pubsub: scopes('pubsub', 'cloud-platform'),
} as const;
