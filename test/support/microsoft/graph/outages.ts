import { GraphError, graphErrors, type Json, type StubAnswer } from '../http/types.ts';
import type { StubUser } from '../directory/directory.ts';
import type { GraphContext } from './context.ts';

/* Failures of mailboxes that pass (`StubSettings.outage`). Requests of every method fail. */

const notEnabled = () =>
  new GraphError(
    404,
    'MailboxNotEnabledForRESTAPI',
    'REST API is not yet supported for this mailbox.',
  );

/** Number of the latest request of a mailbox that was refused for a moment. */
const refused = new WeakMap<StubUser, number>();
/** After a refusal, so many requests are not refused: up to four are made at the same time. */
const REST = 8;

/** Whether the request that `count` counts is refused for a moment. */
function isTurn(user: StubUser, count: number, every: number | null): boolean {
  if (every === null || count % every !== 0) return false;
  if (user.requests - (refused.get(user) ?? -REST) < REST) return false;
  refused.set(user, user.requests);
  return true;
}

/** @throws {GraphError} if the mailbox does not work at the moment */
export function assertWorks(context: GraphContext): void {
  const { outage, outageEvery } = context.world.settings;
  context.user.requests += 1;
  if (isTurn(context.user, context.user.requests, outageEvery)) throw notEnabled();
  switch (outage) {
    case 'not-enabled':
      throw notEnabled();
    case 'not-found':
      throw graphErrors.itemNotFound();
    case 'unknown':
      throw new GraphError(404, 'UnknownError', '');
    case 'bad-request':
      throw graphErrors.invalidRequest("Your request can't be completed.");
    case 'empty':
      if (context.request.method !== 'GET') throw graphErrors.itemNotFound();
      break;
    default:
  }
}

/** The answer as a mailbox gives it that does not have everything at the moment. */
export function lessened(context: GraphContext, answer: StubAnswer): StubAnswer {
  const { outage } = context.world.settings;
  if (outage !== 'empty' && outage !== 'empty-lists') return answer;
  const { value, ...rest } = (answer.body ?? {}) as Json;
  if (!Array.isArray(value)) {
    if (outage === 'empty') throw graphErrors.itemNotFound();
    return answer;
  }
  const { '@odata.nextLink': _next, ...fields } = rest;
  const count = '@odata.count' in fields ? { '@odata.count': 0 } : {};
  return { ...answer, body: { ...fields, ...count, value: [] } };
}

/** How many requests have read a mailbox. */
const reads = new WeakMap<StubUser, number>();

/** @throws {GraphError} if it is the turn of this request (`StubSettings.staleEvery`) */
export function assertFresh({ user, request, world }: GraphContext): void {
  if (request.method !== 'GET') return;
  const { staleEvery } = world.settings;
  const count = (reads.get(user) ?? 0) + 1;
  reads.set(user, count);
  if (isTurn(user, count, staleEvery))
    throw new GraphError(503, 'MailboxInfoStale', 'Mailbox info is stale.');
}
