import { type Scope } from '../../platform/auth/scopes.ts';
import type { ProviderScopeMap } from '../port/sign-in/provider-scope-map.ts';

/** Microsoft Graph's delegated permissions, without the address of the API. */
export const MICROSOFT_SCOPES: ProviderScopeMap = {
  identity: ['openid', 'email', 'profile', 'offline_access', 'User.Read'],
  needed: {
    email: ['Mail.ReadWrite', 'Mail.Send'],
    'email.modify': ['Mail.ReadWrite'],
    'email.read_only': ['Mail.Read'],
    'email.send': ['Mail.Send'],
    'email.folders_and_labels': ['Mail.ReadWrite'],
    'email.metadata': ['Mail.ReadBasic'],
    'email.drafts': ['Mail.ReadWrite'],
    'email.send_as': ['Mail.Send', 'Mail.Send.Shared'],
    calendar: ['Calendars.ReadWrite'],
    'calendar.read_only': ['Calendars.Read'],
    'calendar.free_busy': ['Calendars.Read'],
    contacts: ['Contacts.ReadWrite'],
    'contacts.read_only': ['Contacts.Read'],
    'room_resources.read_only': ['Place.Read.All'],
  },
  // Few users send as somebody else. Rooms need the consent of an administrator.
  onlyIfNamed: ['email.send_as', 'room_resources.read_only'],
  covers: {
    'Mail.ReadWrite': [
      'email.modify',
      'email.read_only',
      'email.metadata',
      'email.drafts',
      'email.folders_and_labels',
    ],
    'Mail.Read': ['email.read_only', 'email.metadata'],
    'Mail.ReadBasic': ['email.metadata'],
    'Mail.Send': ['email.send'],
    'Mail.Send.Shared': ['email.send_as'],
    'Calendars.ReadWrite': ['calendar', 'calendar.read_only', 'calendar.free_busy'],
    'Calendars.Read': ['calendar.read_only', 'calendar.free_busy'],
    'Contacts.ReadWrite': ['contacts', 'contacts.read_only'],
    'Contacts.Read': ['contacts.read_only'],
    'Place.Read.All': ['room_resources.read_only'],
  },
  contained: {
    'Mail.Read': ['Mail.ReadWrite'],
    'Mail.ReadBasic': ['Mail.ReadWrite', 'Mail.Read'],
    'Calendars.Read': ['Calendars.ReadWrite'],
    'Contacts.Read': ['Contacts.ReadWrite'],
  },
};

/**
 * `email` is covered by two permissions together: everything but sending, and sending.
 * @param covered what each permission covers alone
 */
export function withWholeMail(covered: readonly Scope[]): readonly Scope[] {
  const whole = covered.includes('email.modify') && covered.includes('email.send');
  return whole ? ['email', ...covered] : covered;
}
