import {
  bodyOf,
  deltaPageSize,
  type GraphContext,
  type GraphRoute,
  property,
  reading,
  writing,
} from '../graph/context.ts';
import { page, selected } from '../graph/odata.ts';
import type { PathValues } from '../http/routes.ts';
import { GraphError, graphErrors, type StubAnswer } from '../http/types.ts';
import { type MailFolder, ROOT } from './folders.ts';
import { folderIn } from './mail-access.ts';
import { folderDelta } from './mail-delta.ts';
import { folderJson } from './message-json.ts';

type Handler = (context: GraphContext, values: PathValues) => StubAnswer;

const route = (method: string, path: string, handle: Handler): GraphRoute => ({
  method,
  path,
  handle,
  permissions: method === 'GET' ? reading('Mail') : writing('Mail'),
});

/** Routes of mail folders. */
export const folderRoutes: GraphRoute[] = [
  route('GET', 'mailFolders', (context) => list(context, context.user.mailbox.folderId(ROOT))),
  route('POST', 'mailFolders', (context) => create(context, context.user.mailbox.folderId(ROOT))),
  route('GET', 'mailFolders/delta', (context) => ({
    status: 200,
    body: folderDelta({
      tokens: context.world.deltas,
      mailbox: context.user.mailbox,
      url: context.url,
      query: context.request.query,
      form: context.form,
      pageSize: deltaPageSize(context),
    }),
  })),
  route('GET', 'mailFolders/{folder}', (context, { folder = '' }) => {
    const found = folderIn(context, folder);
    return shown(context, found, 200);
  }),
  route('PATCH', 'mailFolders/{folder}', rename),
  route('DELETE', 'mailFolders/{folder}', remove),
  route('POST', 'mailFolders/{folder}/move', move),
  route('GET', 'mailFolders/{folder}/childFolders', (context, { folder = '' }) =>
    list(context, folderIn(context, folder).id),
  ),
  route('POST', 'mailFolders/{folder}/childFolders', (context, { folder = '' }) =>
    create(context, folderIn(context, folder).id),
  ),
];

function list({ user: { mailbox }, request: { query }, url }: GraphContext, parentId: string) {
  const hidden = query.get('includeHiddenFolders')?.toLowerCase() === 'true';
  const items = mailbox
    .childFolders(parentId)
    .filter((folder) => folder.wellKnownName !== 'recoverableitemsdeletions')
    .filter((folder) => hidden || !folder.isHidden)
    .map((folder) => folderJson(mailbox, folder));
  return { status: 200, body: page({ items, url, query }) };
}

function create(context: GraphContext, parentId: string): StubAnswer {
  const body = bodyOf(context);
  const { mailbox } = context.user;
  const name = nameIn(body['displayName']);
  assertFree(context, parentId, name);
  const folder = mailbox.createFolder(name, parentId, body['isHidden'] === true);
  return shown(context, folder, 201);
}

function rename(context: GraphContext, { folder: id = '' }: PathValues): StubAnswer {
  const folder = folderIn(context, id);
  const name = nameIn(bodyOf(context)['displayName']);
  assertOwn(folder, 'renamed');
  if (name !== folder.displayName) assertFree(context, folder.parentId, name);
  context.user.mailbox.updateFolder(folder, { displayName: name });
  return shown(context, folder, 200);
}

function remove(context: GraphContext, { folder: id = '' }: PathValues): StubAnswer {
  const folder = folderIn(context, id);
  assertOwn(folder, 'deleted');
  const { mailbox } = context.user;
  const deleted = mailbox.folderId('deleteditems');
  // A folder goes to Deleted Items first; from there it is deleted.
  if (isBelow(context, folder, deleted)) mailbox.deleteFolder(folder);
  else mailbox.updateFolder(folder, { parentId: deleted });
  return { status: 204 };
}

function move(context: GraphContext, { folder: id = '' }: PathValues): StubAnswer {
  const folder = folderIn(context, id);
  assertOwn(folder, 'moved');
  const target = folderIn(context, String(property(bodyOf(context), 'destinationId')));
  assertFree(context, target.id, folder.displayName);
  context.user.mailbox.updateFolder(folder, { parentId: target.id });
  return shown(context, folder, 201);
}

function isBelow({ user }: GraphContext, folder: MailFolder, ancestorId: string): boolean {
  let at: MailFolder | undefined = folder;
  while (at && at.id !== ancestorId) at = user.mailbox.folders.get(at.parentId);
  return at !== undefined;
}

function shown(
  { user, request, world }: GraphContext,
  folder: MailFolder,
  status: number,
): StubAnswer {
  const json = folderJson(user.mailbox, folder);
  const totalItemCount = Number(json['totalItemCount']) + world.settings.unlistedItems;
  return { status, body: selected({ ...json, totalItemCount }, request.query) };
}

function nameIn(value: unknown): string {
  if (typeof value === 'string' && value.trim() !== '') return value;
  throw graphErrors.invalidRequest(
    "The property 'displayName' is required when creating the entity.",
  );
}

function assertFree({ user }: GraphContext, parentId: string, name: string): void {
  const taken = user.mailbox
    .childFolders(parentId)
    .some(({ displayName }) => displayName.toLowerCase() === name.toLowerCase());
  if (taken) {
    throw new GraphError(
      409,
      'ErrorFolderExists',
      `A folder with the specified name already exists., Could not create folder '${name}'.`,
    );
  }
}

function assertOwn({ wellKnownName }: MailFolder, what: string): void {
  if (wellKnownName === null) return;
  throw new GraphError(
    403,
    'ErrorDeleteDistinguishedFolder',
    `Distinguished folders cannot be ${what}.`,
  );
}
