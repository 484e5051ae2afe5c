import { type Scope, SCOPES } from '../../platform/auth/scopes.ts';
import type { ProviderScopeMap } from '../port/sign-in/provider-scope-map.ts';

const AUTH = 'https://www.googleapis.com/auth/';
const FULL_MAIL = 'https://mail.google.com/';
const MODIFY = `${AUTH}gmail.modify`;
const READ = `${AUTH}gmail.readonly`;
const COMPOSE = `${AUTH}gmail.compose`;
const SEND = `${AUTH}gmail.send`;
const METADATA = `${AUTH}gmail.metadata`;
const CALENDAR = `${AUTH}calendar`;
const READ_CALENDAR = `${AUTH}calendar.readonly`;
const FREE_BUSY = `${AUTH}calendar.freebusy`;
const CONTACTS = `${AUTH}contacts`;
const READ_CONTACTS = `${AUTH}contacts.readonly`;
/** The scope for the rooms of an organization, which only its administrators can grant. */
export const ROOMS_SCOPE = `${AUTH}admin.directory.resource.calendar.readonly`;

const ALL_MAIL: readonly Scope[] = SCOPES.filter((scope) => scope.startsWith('email'));

/**
 * Google's scopes. `gmail.modify` covers everything that Carillon does with mail, so the broader
 * `https://mail.google.com/` is accepted and never asked for. With `gmail.metadata` a token is
 * limited to metadata even if it has broader scopes, so it is asked for only alone.
 */
export const GOOGLE_SCOPES: ProviderScopeMap = {
  identity: ['openid', 'email', 'profile'],
  needed: {
    email: [MODIFY],
    'email.modify': [MODIFY],
    'email.read_only': [READ],
    'email.send': [SEND],
    // A label of a message is changed with this scope only; `gmail.labels` covers the list alone.
    'email.folders_and_labels': [MODIFY],
    'email.metadata': [METADATA],
    'email.drafts': [COMPOSE],
    'email.send_as': [SEND],
    calendar: [CALENDAR],
    'calendar.read_only': [READ_CALENDAR],
    'calendar.free_busy': [FREE_BUSY],
    contacts: [CONTACTS],
    'contacts.read_only': [READ_CONTACTS],
    'room_resources.read_only': [ROOMS_SCOPE],
  },
  onlyIfNamed: ['email.send_as', 'room_resources.read_only'],
  covers: {
    [FULL_MAIL]: ALL_MAIL,
    [MODIFY]: ALL_MAIL,
    [READ]: ['email.read_only', 'email.metadata'],
    [COMPOSE]: ['email.drafts', 'email.send'],
    [SEND]: ['email.send', 'email.send_as'],
    [METADATA]: ['email.metadata'],
    [CALENDAR]: ['calendar', 'calendar.read_only', 'calendar.free_busy'],
    [READ_CALENDAR]: ['calendar.read_only', 'calendar.free_busy'],
    [FREE_BUSY]: ['calendar.free_busy'],
    [CONTACTS]: ['contacts', 'contacts.read_only'],
    [READ_CONTACTS]: ['contacts.read_only'],
    [ROOMS_SCOPE]: ['room_resources.read_only'],
  },
  contained: {
    [READ]: [MODIFY],
    [SEND]: [MODIFY, COMPOSE],
    [COMPOSE]: [MODIFY],
    [METADATA]: [MODIFY, READ],
    [READ_CALENDAR]: [CALENDAR],
    [FREE_BUSY]: [CALENDAR, READ_CALENDAR],
    [READ_CONTACTS]: [CONTACTS],
  },
};
