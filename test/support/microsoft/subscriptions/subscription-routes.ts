import { randomUUID } from 'node:crypto';
import {
  authorizeRoute,
  bodyOf,
  type GraphContext,
  type GraphRoute,
  reading,
} from '../graph/context.ts';
import { page } from '../graph/odata.ts';
import type { PathValues } from '../http/routes.ts';
import { GraphError, graphErrors, type Json, type StubAnswer } from '../http/types.ts';
import type { Subscription } from './subscriptions.ts';
import { readResource } from './watched-resource.ts';

/** Longest life of a subscription to items of Outlook, in minutes. */
const MOST_MINUTES = 10_080;
/** Graph gives a subscription that would expire earlier this many minutes. */
const LEAST_MINUTES = 45;
const MOST_CLIENT_STATE = 128;
const AREA = { messages: 'Mail', events: 'Calendars', contacts: 'Contacts' };

const route = (method: string, path: string, handle: GraphRoute['handle']): GraphRoute => ({
  method,
  path,
  handle,
  permissions: [],
});

/** Routes of subscriptions. An application sees its own only. */
export const subscriptionRoutes: GraphRoute[] = [
  route('POST', 'subscriptions', create),
  route('GET', 'subscriptions', (context) => ({
    status: 200,
    body: page({
      items: own(context).map(json),
      url: context.url,
      query: context.request.query,
      defaultTop: 100,
    }),
  })),
  route('GET', 'subscriptions/{id}', (context, values) => ({
    status: 200,
    body: json(found(context, values)),
  })),
  route('PATCH', 'subscriptions/{id}', renew),
  route('POST', 'subscriptions/{id}/reauthorize', (context, values) => {
    found(context, values).needsReauthorization = false;
    return { status: 204 };
  }),
  route('DELETE', 'subscriptions/{id}', (context, values) => {
    context.world.subscriptions.remove(found(context, values).id);
    return { status: 204 };
  }),
];

async function create(context: GraphContext): Promise<StubAnswer> {
  const { world, token, form } = context;
  const body = bodyOf(context);
  const resource = text(body, 'resource');
  const { user, watched } = readResource(world, token, resource);
  const permissions = reading(AREA[watched.kind]);
  authorizeRoute(token, user, { ...route('POST', '', create), permissions });
  const clientState = optional(body, 'clientState');
  if ((clientState?.length ?? 0) > MOST_CLIENT_STATE) {
    throw graphErrors.invalidRequest('clientState must not exceed 128 characters.');
  }
  const subscription: Subscription = {
    id: randomUUID(),
    applicationId: token.grant.app.clientId,
    creatorId: token.grant.user?.id ?? token.grant.app.clientId,
    user,
    watched,
    resource,
    changeTypes: changeTypes(text(body, 'changeType')),
    notificationUrl: text(body, 'notificationUrl'),
    lifecycleNotificationUrl: optional(body, 'lifecycleNotificationUrl'),
    clientState,
    expires: expiry(context, text(body, 'expirationDateTime')),
    immutable: form.immutable,
    needsReauthorization: false,
  };
  await confirm(context, subscription);
  world.subscriptions.add(subscription);
  return { status: 201, body: json(subscription) };
}

async function confirm({ world }: GraphContext, subscription: Subscription): Promise<void> {
  const { notificationUrl, lifecycleNotificationUrl } = subscription;
  for (const address of new Set([notificationUrl, lifecycleNotificationUrl])) {
    if (address === null) continue;
    const problem = await world.subscriptions.confirm(address);
    if (problem === null) continue;
    throw new GraphError(
      400,
      'ValidationError',
      `Subscription validation request failed. Notification endpoint must respond with 200 OK to validation request: ${problem}.`,
    );
  }
}

function renew(context: GraphContext, values: PathValues): StubAnswer {
  const subscription = found(context, values);
  const body = bodyOf(context);
  const time = optional(body, 'expirationDateTime');
  if (time !== null) subscription.expires = expiry(context, time);
  subscription.notificationUrl = optional(body, 'notificationUrl') ?? subscription.notificationUrl;
  subscription.needsReauthorization = false;
  return { status: 200, body: json(subscription) };
}

function expiry({ world }: GraphContext, time: string): Date {
  const at = Date.parse(time);
  if (Number.isNaN(at)) throw graphErrors.invalidRequest('expirationDateTime is not a time.');
  const minutes = (at - world.now()) / 60_000;
  if (minutes <= 0) {
    throw graphErrors.invalidRequest('Subscription expiration must be in the future.');
  }
  if (minutes > MOST_MINUTES) {
    throw graphErrors.invalidRequest(
      `Subscription expiration can only be ${MOST_MINUTES} minutes in the future.`,
    );
  }
  return new Date(minutes < LEAST_MINUTES ? world.now() + LEAST_MINUTES * 60_000 : at);
}

function changeTypes(value: string): Set<string> {
  const types = value.split(',').map((type) => type.trim().toLowerCase());
  if (types.some((type) => !['created', 'updated', 'deleted'].includes(type))) {
    throw graphErrors.invalidRequest(`changeType '${value}' is not supported.`);
  }
  return new Set(types);
}

const own = ({ world, token }: GraphContext): Subscription[] =>
  world.subscriptions.all.filter(({ applicationId }) => applicationId === token.grant.app.clientId);

function found(context: GraphContext, { id = '' }: PathValues): Subscription {
  const subscription = own(context).find((candidate) => candidate.id === id);
  if (subscription) return subscription;
  throw new GraphError(404, 'ResourceNotFound', 'The object was not found.');
}

const json = (subscription: Subscription): Json => ({
  id: subscription.id,
  resource: subscription.resource,
  applicationId: subscription.applicationId,
  changeType: [...subscription.changeTypes].join(','),
  clientState: subscription.clientState,
  notificationUrl: subscription.notificationUrl,
  lifecycleNotificationUrl: subscription.lifecycleNotificationUrl,
  expirationDateTime: subscription.expires.toISOString(),
  creatorId: subscription.creatorId,
  latestSupportedTlsVersion: 'v1_2',
});

function text(body: Json, name: string): string {
  const value = body[name];
  if (typeof value === 'string' && value !== '') return value;
  throw graphErrors.invalidRequest(`The property '${name}' is required.`);
}

function optional(body: Json, name: string): string | null {
  const value = body[name];
  return typeof value === 'string' ? value : null;
}
