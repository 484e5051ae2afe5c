import type { Scope } from './scopes.ts';

const GOOGLE = 'https://www.googleapis.com/auth/';

/**
 * Scopes of Google and Microsoft, and the scopes here that permit no more. Applications that were
 * written for the hosted service send them, for example in integrations.
 */
const OF_PROVIDERS: Readonly<Record<string, readonly Scope[]>> = {
  'https://mail.google.com/': ['email'],
  [`${GOOGLE}gmail.modify`]: ['email.modify', 'email.send'],
  [`${GOOGLE}gmail.readonly`]: ['email.read_only'],
  [`${GOOGLE}gmail.compose`]: ['email.drafts', 'email.send'],
  [`${GOOGLE}gmail.send`]: ['email.send'],
  [`${GOOGLE}gmail.labels`]: ['email.folders_and_labels'],
  [`${GOOGLE}gmail.metadata`]: ['email.metadata'],
  [`${GOOGLE}calendar`]: ['calendar'],
  [`${GOOGLE}calendar.events`]: ['calendar'],
  [`${GOOGLE}calendar.readonly`]: ['calendar.read_only'],
  [`${GOOGLE}calendar.events.readonly`]: ['calendar.read_only'],
  [`${GOOGLE}calendar.freebusy`]: ['calendar.free_busy'],
  [`${GOOGLE}admin.directory.resource.calendar.readonly`]: ['room_resources.read_only'],
  [`${GOOGLE}contacts`]: ['contacts'],
  [`${GOOGLE}contacts.readonly`]: ['contacts.read_only'],
  [`${GOOGLE}userinfo.email`]: [],
  [`${GOOGLE}userinfo.profile`]: [],
  openid: [],
  profile: [],
  'Mail.ReadWrite': ['email.modify'],
  'Mail.Read': ['email.read_only'],
  'Mail.Send': ['email.send'],
  'Mail.Send.Shared': ['email.send_as'],
  'Calendars.ReadWrite': ['calendar'],
  'Calendars.Read': ['calendar.read_only'],
  'Contacts.ReadWrite': ['contacts'],
  'Contacts.Read': ['contacts.read_only'],
  'Place.Read.All': ['room_resources.read_only'],
  'User.Read': [],
  offline_access: [],
};

/**
 * The scopes here for a scope of a provider; empty for one that permits to read only who the user
 * is. `undefined` if the name is not known.
 */
export function scopesOfProvider(name: string): readonly Scope[] | undefined {
  const bare = name.replace(/^https:\/\/(graph\.microsoft\.com|outlook\.office\.com)\//, '');
  return Object.hasOwn(OF_PROVIDERS, bare) ? OF_PROVIDERS[bare] : undefined;
}
