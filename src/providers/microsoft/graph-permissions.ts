import type { ProviderAccount } from '../port/connector.ts';
import type { RestRequest } from '../rest/rest-client.ts';
import { microsoftSettings } from './microsoft.settings.ts';

/** Areas of permissions by what a path begins with, below the mailbox or the version. */
const AREAS: readonly (readonly [RegExp, string])[] = [
  [/^\/(messages|mailFolders)\b/, 'Mail'],
  [/^\/(events|calendars?|calendarView)\b/, 'Calendars'],
  [/^\/contact(s|Folders)\b/, 'Contacts'],
];
const SENDING = /^\/(sendMail|messages\/[^/]+\/send)$/;

/** The permission that a request needs; `null` for requests that need several or none. */
export function permissionFor({ method, path }: Pick<RestRequest, 'method'> & { path: string }) {
  if (SENDING.test(path)) return 'Mail.Send';
  if (path.startsWith('/places')) return 'Place.Read.All';
  const area = AREAS.find(([pattern]) => pattern.test(path))?.[1];
  const reads = method === 'GET' || path.endsWith('/getSchedule');
  return area ? `${area}.${reads ? 'Read' : 'ReadWrite'}` : null;
}

/**
 * What to do about a request that Microsoft has refused for want of a permission, by the kind of
 * credentials that the account has.
 */
export function missingPermission(
  { settings }: Pick<ProviderAccount, 'settings'>,
  permission: string | null,
): string {
  const { app_only, shared_mailbox } = microsoftSettings.parse(settings);
  const name = permission ?? 'for this access';
  if (app_only)
    return `The application acts by itself: an administrator has to grant it the application permission ${name}, for this mailbox.`;
  if (shared_mailbox)
    return `The mailbox is opened by a user: the delegated permission ${permission ? `${name}.Shared` : name} is missing, or the user may not open this mailbox.`;
  return `The delegated permission ${name} is missing: the user, or an administrator, has to agree to it.`;
}
