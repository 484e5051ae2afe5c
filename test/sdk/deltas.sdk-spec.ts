import Nylas from 'nylas';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';
import { ChangeWatch } from '../../src/deltas/change-watch.ts';

/** A delta as the official client's stream emits it. */
interface RawDelta {
  id: string;
  object: string;
  event: string;
  cursor: string;
  attributes?: { name?: string };
}

/** Runs the official client's three ways to read deltas: one request, a long poll and a stream. */
describe('nylas@6.11.1, deltas', () => {
  let server: TestApp;
  let ada: TestAccount;
  let client: ReturnType<typeof Nylas.with>;

  beforeAll(async () => {
    server = await startTestApp();
    const application = await createApplication(server.app);
    ada = await createAccount(server.app, application);
    Nylas.config({
      clientId: application.clientId,
      clientSecret: application.clientSecret,
      apiServer: server.url,
    });
    client = Nylas.with(ada.token);
  });
  afterAll(() => server.close());

  const calendar = async (name: string) => {
    const response = await fetch(`${server.url}/calendars`, {
      method: 'POST',
      headers: { ...ada.bearer, 'Content-Type': 'application/json' },
      body: JSON.stringify({ name }),
    });
    return ((await response.json()) as { id: string }).id;
  };
  const waiting = (count: number) =>
    until(`${count} to wait`, async () => server.app.get(ChangeWatch).size === count);

  it('reads the changes since a cursor, limited to the requested types', async () => {
    const cursor = await client.deltas.latestCursor(() => undefined);
    const id = await calendar('Work');
    const page = await client.deltas.since(cursor);
    expect(page).toMatchObject({
      cursorStart: cursor,
      deltas: [{ id, object: 'calendar', event: 'create', objectAttributes: { name: 'Work' } }],
    });
    const { cursorEnd } = page;
    expect((await client.deltas.since(cursorEnd)).cursorEnd).toBe(cursorEnd);
    const count = async (types: object) => (await client.deltas.since(cursor, types)).deltas.length;
    expect(await count({ includeTypes: ['calendar', 'event'] })).toBe(1);
    expect(await count({ includeTypes: ['thread'] })).toBe(0);
    expect(await count({ excludeTypes: ['calendar'] })).toBe(0);
    expect(await count({ excludeTypes: ['event', 'draft'], view: 'expanded' })).toBe(1);
    await expect(client.deltas.since('rubbish')).rejects.toMatchObject({ statusCode: 400 });
  });

  it('waits for the next change', async () => {
    const cursor = await client.deltas.latestCursor(() => undefined);
    // The promise resolves with the head of the response, which the server sends with the first
    // change.
    const opened = client.deltas.longPoll(cursor, 60, { excludeTypes: ['event'] });
    await waiting(1);
    const id = await calendar('Later');
    const poll = await opened;
    const page = await new Promise((resolve) => poll.once('delta', resolve));
    expect(page).toMatchObject({ cursorStart: cursor, deltas: [{ id, event: 'create' }] });
    poll.close();
  });

  it('streams changes as they occur, receives heartbeats in between, and ends when the client closes the stream', async () => {
    const cursor = await client.deltas.latestCursor(() => undefined);
    const stream = await client.deltas.startStream(cursor, { includeTypes: ['calendar'] });
    const deltas: RawDelta[] = [];
    const problems: unknown[] = [];
    stream
      .on('delta', (delta: RawDelta) => deltas.push(delta))
      .on('error', (e) => problems.push(e));
    // The client restarts its timer each time it receives something.
    const timers = new Set([stream.timeoutId]);
    const [first, second] = [await calendar('first'), await calendar('second')];
    await until('both changes', async () => deltas.length === 2);
    expect(deltas.map(({ id }) => id)).toEqual([first, second]);
    expect(deltas[0]).toMatchObject({
      object: 'calendar',
      event: 'create',
      attributes: { name: 'first' },
    });
    expect(stream.cursor).toBe(deltas[1]?.cursor);
    timers.clear();
    await until('two more heartbeats', async () => timers.add(stream.timeoutId).size >= 3);
    stream.close();
    await waiting(0);
    expect([deltas.length, problems]).toEqual([2, []]);
  });
});
