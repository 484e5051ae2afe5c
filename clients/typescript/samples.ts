import { Carillon, CarillonError, type Schemas, type WebhookDelta } from './src/index.ts';

/*
 * What programs write with the client. `npm run check:types` proves that none of it needs a cast;
 * test/e2e/client.e2e-spec.ts runs it.
 */

export async function newestSubjects(carillon: Carillon): Promise<string[]> {
  const messages = await carillon.get('/messages', { query: { limit: 5, in: 'inbox' } });
  return messages.map(({ subject }) => subject);
}

export async function countAndIds(carillon: Carillon): Promise<{ count: number; ids: string[] }> {
  const count = await carillon.count('/messages', { query: { unread: true } });
  return { count, ids: await carillon.ids('/messages', { query: { unread: true } }) };
}

export async function sendLater(carillon: Carillon, at: Date): Promise<Schemas['OutboxMessage']> {
  const body = {
    to: [{ email: 'bo@example.test', name: 'Bo' }],
    subject: 'See you tomorrow',
    body: '<p>Until tomorrow!</p>',
    send_at: Math.floor(at.getTime() / 1000),
  };
  const plan = await carillon.plan(body);
  if (plan.recipients !== 1) throw new Error(`${plan.recipients} recipients`);
  return carillon.post('/v2/outbox', { body, idempotencyKey: `visit-4711-${body.send_at}` });
}

export async function titlesOfAllEvents(carillon: Carillon, calendarId: string): Promise<string[]> {
  const titles: string[] = [];
  const query = { calendar_id: calendarId, limit: 2 };
  for await (const event of carillon.all('/events', { query })) titles.push(event.title ?? '');
  return titles;
}

export async function markRead(carillon: Carillon, id: string): Promise<boolean> {
  const message = await carillon.put('/messages/{id}', { path: { id }, body: { unread: false } });
  return message.unread;
}

export async function exists(carillon: Carillon, id: string): Promise<boolean> {
  try {
    await carillon.get('/messages/{id}', { path: { id } });
    return true;
  } catch (error) {
    if (error instanceof CarillonError && error.status === 404) return false;
    throw error;
  }
}

export async function deliveries(application: Carillon): Promise<number> {
  const webhooks = await application.get('/a/{client_id}/webhooks');
  const [first] = webhooks;
  if (!first) return 0;
  const path = { id: first.id };
  return (await application.get('/a/{client_id}/webhooks/{id}/deliveries', { path })).length;
}

export function subjectsOf(deltas: readonly WebhookDelta[]): string[] {
  return deltas.flatMap((delta) => {
    if (delta.type !== 'message.created') return [];
    const { object_data: data } = delta;
    return data.content === 'summary' || data.content === 'full' ? data.attributes.subject : [];
  });
}

/** Never called: each line is a mistake that the types find. */
export async function mistakes(carillon: Carillon): Promise<void> {
  // @ts-expect-error -- there is no such path
  await carillon.get('/mesages');
  // @ts-expect-error -- there is no such parameter
  await carillon.get('/messages', { query: { unred: true } });
  // @ts-expect-error -- the path needs an id
  await carillon.get('/messages/{id}');
  // @ts-expect-error -- ids() returns the type that belongs to it
  await carillon.get('/messages', { query: { view: 'ids' } });
  // @ts-expect-error -- the number is no text
  await carillon.put('/messages/{id}', { path: { id: 'x' }, body: { unread: 'no' } });
}
