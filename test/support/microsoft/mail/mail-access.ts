import type { GraphContext } from '../graph/context.ts';
import { assertId } from '../graph/item-ids.ts';
import { GraphError, graphErrors } from '../http/types.ts';
import type { PathValues } from '../http/routes.ts';
import type { MailFolder } from './folders.ts';
import type { StoredMessage } from './message.ts';

/** The folder that a path names by id or well-known name. @throws {GraphError} 404 or 400 */
export function folderIn({ user }: GraphContext, name: string): MailFolder {
  const folder = user.mailbox.folder(name);
  if (folder) return folder;
  assertId(name);
  throw graphErrors.itemNotFound();
}

/** The message of a path; in its folder, if the path names one. @throws {GraphError} 404 or 400 */
export function messageIn(context: GraphContext, values: PathValues): StoredMessage {
  const { id = '', folder } = values;
  const message = context.user.mailbox.message(id);
  if (!message) {
    assertId(id);
    throw graphErrors.itemNotFound();
  }
  if (folder !== undefined && folderIn(context, folder).id !== message.folderId) {
    throw graphErrors.itemNotFound();
  }
  noteIdForm(context, id, message);
  return message;
}

/** Reports a request that uses one form of ids and asks for the other. */
function noteIdForm({ world, form, request }: GraphContext, id: string, message: StoredMessage) {
  if (form.immutable || id === message.restId) return;
  world.violations.push(
    `${request.method} ${request.path} has an immutable id and no Prefer: IdType="ImmutableId"`,
  );
}

/** Refuses what needs room while the mailbox is full. @throws {GraphError} 507 */
export function assertRoom({ user }: GraphContext): void {
  if (!user.mailbox.isFull) return;
  throw new GraphError(
    507,
    'ErrorQuotaExceeded',
    'The process failed to get the correct properties., The mailbox quota was exceeded.',
  );
}

/** Refuses a change if the request names another version in If-Match. */
export function assertVersion({ request }: GraphContext, etag: string): void {
  const wanted = request.headers['if-match'];
  if (wanted === undefined || wanted === '*' || wanted === etag) return;
  throw new GraphError(
    412,
    'ErrorIrresolvableConflict',
    'The send or update operation could not be performed because the change key passed in the request does not match the current change key for the item.',
  );
}
