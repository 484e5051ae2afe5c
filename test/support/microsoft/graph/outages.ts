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

/** @throws {GraphError} if the mailbox does not work at the moment */
export function assertWorks(context: GraphContext): void {
  const { outage, outageEvery } = context.world.settings;
  context.user.requests += 1;
  if (outageEvery !== null && context.user.requests % outageEvery === 0) throw notEnabled();
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
  const { staleEvery } = world.settings;
  if (staleEvery === null || request.method !== 'GET') return;
  const count = (reads.get(user) ?? 0) + 1;
  reads.set(user, count);
  if (count % staleEvery === 0)
    throw new GraphError(503, 'MailboxInfoStale', 'Mailbox info is stale.');
}
