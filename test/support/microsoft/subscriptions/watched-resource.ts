import type { StubUser } from '../directory/directory.ts';
import { graphErrors } from '../http/types.ts';
import type { ItemChange } from '../mail/mailbox.ts';
import type { AccessToken } from '../oauth/token-store.ts';
import { caller } from '../graph/context.ts';
import type { World } from '../world.ts';

/** What a subscription watches in a mailbox. */
export interface WatchedResource {
  kind: ItemChange['resource'];
  /** Folder or calendar; null for all of them. */
  containerId: string | null;
}

const PATH =
  /^\/?(?:me|users(?:\/|\(')([^/()']+)(?:'\))?)\/(?:(mailFolders|calendars|contactFolders)(?:\/|\(')([^/()']+)(?:'\))?\/)?(messages|events|contacts)\/?(?:\?.*)?$/i;

/** Reads a resource such as `me/mailFolders('inbox')/messages`. @throws {GraphError} 400 or 404 */
export function readResource(
  { directory, settings }: Pick<World, 'directory' | 'settings'>,
  token: AccessToken,
  resource: string,
): { user: StubUser; watched: WatchedResource } {
  const match = PATH.exec(resource);
  if (!match) {
    throw graphErrors.invalidRequest(`Resource '${resource}' is not supported for subscriptions.`);
  }
  const [, name, container, containerName = '', kind = ''] = match;
  const user = name === undefined ? caller(token) : directory.user(decodeURIComponent(name));
  if (!user) throw graphErrors.itemNotFound();
  if (container?.toLowerCase() === 'calendars' && !settings.watchesCalendars) {
    throw graphErrors.invalidRequest(`Resource '${resource}' is not supported for subscriptions.`);
  }
  const watched = { kind: kind.toLowerCase() as ItemChange['resource'], containerId: null };
  if (container === undefined) return { user, watched };
  const id = containerId(user, container.toLowerCase(), decodeURIComponent(containerName));
  return { user, watched: { ...watched, containerId: id } };
}

function containerId({ mailbox }: StubUser, kind: string, name: string): string {
  if (kind !== 'mailfolders') return name;
  const folder = mailbox.folder(name);
  if (!folder) throw graphErrors.itemNotFound();
  return folder.id;
}

/** Whether a subscription watches an item. */
export function watches({ kind, containerId }: WatchedResource, change: ItemChange): boolean {
  return kind === change.resource && (containerId === null || containerId === change.containerId);
}
