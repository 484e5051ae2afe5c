import type { StubAnswer, StubRequest } from '../../remote-stub/messages.ts';
import { ok } from '../call.ts';
import { GoogleError, notFound } from '../errors.ts';
import type { PubSub, Subscription } from './pubsub.ts';

const SUBSCRIPTION = /^\/v1\/(projects\/[^/]+\/subscriptions\/[^/:]+)(?::(\w+))?$/;

/** True for the addresses of Pub/Sub. */
export function isPubSub({ path }: StubRequest): boolean {
  return path.startsWith('/v1/projects/');
}

/** Answers pull, acknowledge, modifyAckDeadline, and making and reading a subscription. */
export function pubSubAnswer(pubsub: PubSub, { method, path, json }: StubRequest): StubAnswer {
  const [, name, action] = SUBSCRIPTION.exec(decodeURIComponent(path)) ?? [];
  const body = (json ?? {}) as Record<string, unknown>;
  if (name === undefined) throw new GoogleError(404, 'notFound', 'Not Found');
  if (method === 'PUT' && action === undefined) return created(pubsub, name, body);
  const subscription = pubsub.subscriptions.get(name);
  if (!subscription) throw notFound(`Resource not found (resource=${name.replace(/.*\//, '')}).`);
  if (method === 'GET') return ok(view(subscription));
  const ackIds = ((body['ackIds'] ?? []) as unknown[]).map(String);
  if (action === 'pull') {
    const receivedMessages = pubsub.pull(subscription, Number(body['maxMessages'] ?? 1));
    return ok(receivedMessages.length > 0 ? { receivedMessages } : {});
  }
  if (action === 'acknowledge') pubsub.acknowledge(subscription, ackIds);
  else if (action === 'modifyAckDeadline')
    pubsub.lease(subscription, ackIds, Number(body['ackDeadlineSeconds'] ?? 10));
  else throw new GoogleError(404, 'notFound', 'Not Found');
  return ok({});
}

function created(pubsub: PubSub, name: string, body: Record<string, unknown>): StubAnswer {
  if (pubsub.subscriptions.has(name))
    throw new GoogleError(409, 'alreadyExists', 'Resource already exists in the project.');
  const { pushEndpoint } = (body['pushConfig'] ?? {}) as { pushEndpoint?: string };
  const push = pushEndpoint === undefined ? null : { endpoint: pushEndpoint };
  return ok(view(pubsub.subscribe(name, String(body['topic']), push)));
}

function view({ name, topic, ackDeadlineSeconds, push }: Subscription): object {
  const pushConfig = push ? { pushEndpoint: push.endpoint } : {};
  return { name, topic, ackDeadlineSeconds, pushConfig };
}
