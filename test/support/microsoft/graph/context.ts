import type { StubUser } from '../directory/directory.ts';
import type { Route } from '../http/routes.ts';
import { GraphError, graphErrors, type Json, jsonBody, type StubRequest } from '../http/types.ts';
import type { StubSettings } from '../settings.ts';
import type { JsonForm } from '../mail/message-json.ts';
import type { AccessToken } from '../oauth/token-store.ts';
import type { World } from '../world.ts';

/** A request to Graph with everything that its handler needs. */
export interface GraphContext {
  world: World;
  request: StubRequest;
  token: AccessToken;
  /** The mailbox's owner: the caller, or the user of the path. */
  user: StubUser;
  form: JsonForm;
  prefer: Map<string, string>;
  /** Absolute address of the request, without its query. */
  url: string;
}

/** A route of Graph: `path` is what follows `/me` or `/users/{id}`, or `/v1.0` for the others. */
export interface GraphRoute extends Route<GraphContext> {
  /** Permissions of which the token needs one; empty for none. */
  permissions: readonly string[];
}

/** Permissions to read a kind of items, such as `Mail`. */
export const reading = (area: string): string[] => [`${area}.Read`, `${area}.ReadWrite`];

/** Permissions to change a kind of items. */
export const writing = (area: string): string[] => [`${area}.ReadWrite`];

/** Values of the header `Prefer`, by lower-case name. */
export function preferences(header: string | string[] | undefined): Map<string, string> {
  const found = new Map<string, string>();
  const text = Array.isArray(header) ? header.join(', ') : (header ?? '');
  for (const [, name = '', value = ''] of text.matchAll(/([\w.-]+)\s*=\s*("[^"]*"|[^,;\s]+)/g)) {
    found.set(name.toLowerCase(), value.replace(/^"|"$/g, ''));
  }
  return found;
}

/** The form of items that `Prefer` asks for. */
export function formOf(prefer: Map<string, string>, { hidesOwnHeaders }: StubSettings): JsonForm {
  const bodyType = prefer.get('outlook.body-content-type')?.toLowerCase();
  return {
    immutable: prefer.get('idtype') === 'ImmutableId',
    hidesOwnHeaders,
    ...(bodyType === 'text' || bodyType === 'html' ? { bodyType } : {}),
  };
}

/** Size of pages of a delta query: `odata.maxpagesize`, or 10. */
export function deltaPageSize({ prefer }: GraphContext): number {
  const size = Number(prefer.get('odata.maxpagesize') ?? 10);
  return Math.max(1, Math.min(size, 1_000));
}

/** The token of a request. @throws {GraphError} 401 */
export function authenticate(world: World, request: StubRequest): AccessToken {
  const text = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1];
  if (text === undefined) {
    throw unauthorized('Access token is empty.');
  }
  const token = world.tokens.access(text);
  if (!token) throw unauthorized('Lifetime validation failed, the token is expired.');
  return token;
}

const unauthorized = (text: string) =>
  new GraphError(401, 'InvalidAuthenticationToken', text, {
    'www-authenticate':
      'Bearer realm="", authorization_uri="https://login.microsoftonline.com/common/oauth2/authorize", client_id="00000003-0000-0000-c000-000000000000"',
  });

/** The caller. @throws {GraphError} 400 for a token without a user */
export function caller(token: AccessToken): StubUser {
  if (token.grant.user) return token.grant.user;
  throw graphErrors.badRequest('/me request is only valid with delegated authentication flow.');
}

/**
 * Checks that the token allows a route for a mailbox. Mailboxes of others need a permission that
 * ends with `.Shared`, and membership.
 * @throws {GraphError} 403
 */
export function authorizeRoute(token: AccessToken, user: StubUser, route: GraphRoute): void {
  const { grant, permissions } = token;
  if (route.permissions.length === 0) return;
  const owned = new Set([...permissions].map((name) => name.toLowerCase()));
  const isOwn = grant.user === user;
  const delegated = grant.user !== null;
  const has = (name: string) =>
    owned.has(`${name}.Shared`.toLowerCase()) ||
    ((isOwn || !delegated) && owned.has(name.toLowerCase()));
  const sameTenant = grant.tenantId === user.tenantId;
  const isMember = isOwn || !delegated || user.members.has((grant.user?.email ?? '').toLowerCase());
  if (!route.permissions.some(has) || !sameTenant || !isMember) throw graphErrors.accessDenied();
}

/** The body of a request as JSON, whatever the method. */
export const bodyOf = ({ request }: GraphContext): Json => jsonBody(request.body);

/** A property whose name Graph reads without regard to case, as in actions. */
export function property(body: Json, name: string): unknown {
  const key = Object.keys(body).find((other) => other.toLowerCase() === name.toLowerCase());
  return key === undefined ? undefined : body[key];
}

/**
 * Checks the header If-Match.
 * @throws {GraphError} 412 if it names another version
 */
export function assertMatches({ request }: GraphContext, etag: string): void {
  const wanted = request.headers['if-match'];
  if (wanted === undefined || wanted === '*' || wanted === etag) return;
  throw new GraphError(
    412,
    'ErrorIrresolvableConflict',
    'The send or update operation could not be performed because the change key passed in the request does not match the current change key for the item.',
  );
}
