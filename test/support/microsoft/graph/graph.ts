import { randomUUID } from 'node:crypto';
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import type { StubUser } from '../directory/directory.ts';
import { type Route, routerOf, shortPath } from '../http/routes.ts';
import { GraphError, graphErrors, type StubAnswer, type StubRequest } from '../http/types.ts';
import { calendarRoutes } from '../calendar/calendar-routes.ts';
import { eventRoutes } from '../calendar/event-routes.ts';
import { placeRoutes, scheduleRoutes } from '../calendar/schedule-routes.ts';
import { contactRoutes } from '../contacts/contact-routes.ts';
import { attachmentRoutes } from '../mail/attachment-routes.ts';
import { folderRoutes } from '../mail/folder-routes.ts';
import { messageRoutes } from '../mail/message-routes.ts';
import { sendRoutes } from '../mail/send-routes.ts';
import { uploadRoutes } from '../mail/upload-sessions.ts';
import type { AccessToken } from '../oauth/token-store.ts';
import { subscriptionRoutes } from '../subscriptions/subscription-routes.ts';
import type { World } from '../world.ts';
import {
  authenticate,
  authorizeRoute,
  caller,
  formOf,
  type GraphContext,
  type GraphRoute,
  preferences,
} from './context.ts';
import { assertFresh, assertWorks, lessened } from './outages.ts';
import { userRoutes } from './user-routes.ts';

const mailboxRoutes = routerOf<GraphRoute>([
  ...userRoutes,
  ...folderRoutes,
  ...messageRoutes,
  ...sendRoutes,
  ...attachmentRoutes,
  ...uploadRoutes,
  ...calendarRoutes,
  ...eventRoutes,
  ...scheduleRoutes,
  ...contactRoutes,
]);
/** Routes that belong to no mailbox. */
const otherRoutes = routerOf<GraphRoute>([...subscriptionRoutes, ...placeRoutes]);

/** Answers a request to Microsoft Graph v1.0. Errors become answers in Graph's form. */
export async function answerGraph(world: World, request: StubRequest): Promise<StubAnswer> {
  const answer = await answered(world, request);
  const id = randomUUID();
  const client = request.headers['client-request-id'];
  const headers = {
    'request-id': id,
    'client-request-id': typeof client === 'string' ? client : id,
    ...answer.headers,
  };
  return { ...answer, headers };
}

async function answered(world: World, request: StubRequest): Promise<StubAnswer> {
  try {
    const token = authenticate(world, request);
    if (request.body.length > world.settings.requestBytes) {
      throw new GraphError(413, 'BadRequest', 'Maximum request length exceeded.');
    }
    return await dispatch(world, request, token);
  } catch (error) {
    if (error instanceof GraphError) return error.answer();
    throw error;
  }
}

async function dispatch(
  world: World,
  request: StubRequest,
  token: AccessToken,
): Promise<StubAnswer> {
  const { user, isMailbox, path } = target(world, request, token);
  const found = (isMailbox ? mailboxRoutes : otherRoutes).find(request.method, path);
  if (found === null) {
    const name = path.split('/').at(-1);
    throw graphErrors.badRequest(`Resource not found for the segment '${name}'.`);
  }
  if (found === 'method') {
    throw new GraphError(405, 'UnknownError', 'The method is not allowed for this resource.');
  }
  const { value: route, params } = found;
  authorizeRoute(token, user, route);
  const prefer = preferences(request.headers.prefer);
  const form = formOf(prefer, world.settings);
  requireIdType(world, request, form.immutable);
  const url = `${world.origin}${request.path}`;
  const context: GraphContext = { world, request, token, user, form, prefer, url };
  const leave = isMailbox ? world.quotas.enter(user.email) : () => undefined;
  try {
    // Requests that arrive together overlap, as they do at Microsoft.
    await (world.settings.latencyMs > 0 ? delay(world.settings.latencyMs) : turn());
    if (isMailbox) assertFresh(context);
    if (isMailbox) assertWorks(context);
    const answer = await (route as Route<GraphContext>).handle(context, params);
    return withPreference(isMailbox ? lessened(context, answer) : answer, form.immutable);
  } finally {
    leave();
  }
}

interface Target {
  user: StubUser;
  isMailbox: boolean;
  /** Path below the mailbox, or below the version. */
  path: string;
}

function target(world: World, { path }: StubRequest, token: AccessToken): Target {
  const short = shortPath(path.replace(/^\/v1\.0/, ''));
  const own = /^\/me(\/.*)?$/.exec(short);
  if (own) return { user: caller(token), isMailbox: true, path: own[1] ?? '/' };
  const other = /^\/users\/([^/]+)(\/.*)?$/.exec(short);
  if (other) {
    const user = world.directory.user(decodeURIComponent(other[1] ?? ''));
    if (!user) {
      throw new GraphError(404, 'ErrorInvalidUser', `The requested user '${other[1]}' is invalid.`);
    }
    return { user, isMailbox: true, path: other[2] ?? '/' };
  }
  const anyone = token.grant.user ?? world.directory.users[0];
  if (!anyone) throw graphErrors.badRequest('The directory has no users.');
  return { user: anyone, isMailbox: false, path: short };
}

/** @throws {GraphError} 400 for any request without the header, if tests require it */
function requireIdType({ settings, violations }: World, request: StubRequest, immutable: boolean) {
  if (immutable || !settings.requiresImmutableIds) return;
  const problem = 'Prefer: IdType="ImmutableId" is missing';
  violations.push(`Request ${request.method} ${request.path}: ${problem}`);
  throw graphErrors.badRequest(problem);
}

const withPreference = (answer: StubAnswer, immutable: boolean): StubAnswer =>
  immutable
    ? {
        ...answer,
        headers: { 'preference-applied': 'IdType="ImmutableId"', ...answer.headers },
      }
    : answer;
