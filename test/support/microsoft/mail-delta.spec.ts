import { expectDocumented } from '../remote-stub/remote-stub.ts';
import { GraphClient } from './graph-client.ts';
import type { Json } from './http/types.ts';
import { MicrosoftStub } from './microsoft-stub.ts';

const ANN = 'ann@contoso.test';
const mime = (subject: string) =>
  `From: b@x.test\r\nTo: ${ANN}\r\nSubject: ${subject}\r\n\r\nHi\r\n`;
const DELTA = 'me/mailFolders/inbox/messages/delta?$select=subject,isRead';
const SMALL = { prefer: 'IdType="ImmutableId", odata.maxpagesize=2' };

const ordered = (answers: { status?: unknown }[]) =>
  answers.map(({ status }) => Number(status)).sort((a, b) => a - b);

describe('delta queries and batches of the stub of Microsoft', () => {
  let stub: MicrosoftStub;
  let ann: GraphClient;

  beforeEach(async () => {
    stub = await MicrosoftStub.start();
    stub.addUser(ANN);
    ann = new GraphClient(stub, stub.tokensFor(ANN, ['Mail.ReadWrite']).accessToken, SMALL);
  });
  afterEach(async () => {
    await stub.stop();
    expectDocumented(stub);
  });

  it('lists a folder in pages, and then only what changed', async () => {
    const put = [];
    for (const name of ['a', 'b', 'c']) put.push(await stub.put(ANN, mime(name)));
    const [a, b, c] = put.map(({ immutableId }) => immutableId);
    const first = await ann.delta(DELTA);
    expect([first.pages, first.items.map(({ id }) => id)]).toEqual([2, [a, b, c]]);
    await ann.send('PATCH', `me/messages/${a}`, { isRead: true });
    await ann.send('POST', `me/messages/${b}/move`, { destinationId: 'archive' });
    await ann.send('DELETE', `me/messages/${c}`);
    await stub.put(ANN, mime('d'));
    const second = await ann.delta(first.link);
    const [read, moved, deleted, added] = second.items;
    expect(read).toMatchObject({ id: a, isRead: true });
    expect(read).not.toHaveProperty('subject');
    expect(moved).toMatchObject({ id: b, '@removed': { reason: 'deleted' } });
    expect(deleted).toMatchObject({ id: c, '@removed': { reason: 'deleted' } });
    expect(added).toMatchObject({ subject: 'd' });
    expect((await ann.delta(second.link)).items).toEqual([]);
  });

  it('reports a message that changes between two pages in the next round', async () => {
    for (const name of ['a', 'b', 'c']) await stub.put(ANN, mime(name));
    const page = await ann.get(DELTA);
    const [first] = page['value'] as Json[];
    await ann.send('PATCH', `me/messages/${String(first?.['id'])}`, { categories: ['x'] });
    const rest = await ann.delta(String(page['@odata.nextLink']));
    expect(rest.items).toMatchObject([{ subject: 'c' }]);
    expect((await ann.delta(rest.link)).items).toMatchObject([{ subject: 'a' }]);
  });

  it('says nothing about moves while they vanish', async () => {
    const { immutableId } = await stub.put(ANN, mime('a'));
    const { link } = await ann.delta(DELTA);
    stub.user(ANN).mailbox.movesVanish = true;
    await ann.send('POST', `me/messages/${immutableId}/move`, { destinationId: 'archive' });
    expect((await ann.delta(link)).items).toEqual([]);
  });

  it('answers expired links with 410 and the code that was set', async () => {
    const { link } = await ann.delta(DELTA);
    stub.expireDeltaLinks();
    const gone = await ann.send('GET', link);
    expect([gone.status, gone.body['error']]).toMatchObject([410, { code: 'SyncStateNotFound' }]);
    const again = await ann.delta(DELTA);
    stub.expireDeltaLinks('resyncRequired');
    expect((await ann.send('GET', again.link)).body['error']).toMatchObject({
      code: 'resyncRequired',
    });
  });

  it('answers the parts of a batch in another order, each with its own fault', async () => {
    for (const name of ['a', 'b', 'c']) await stub.put(ANN, mime(name));
    const ids = (await ann.list('me/messages?$top=10')).map(({ id }) => String(id));
    stub.faults.add({
      match: ({ path }) => path.endsWith(encodeURIComponent(ids[1] ?? '')),
      answer: {
        status: 429,
        headers: { 'retry-after': '2' },
        body: { error: { code: 'TooManyRequests', message: '' } },
      },
    });
    const requests = ids.map((id, index) => ({
      id: String(index),
      method: 'GET',
      url: `/me/messages/${encodeURIComponent(id)}?$select=subject`,
      headers: { Prefer: SMALL.prefer },
    }));
    const { body } = await ann.send('POST', '$batch', { requests });
    expect(body['responses']).toMatchObject([
      { id: '2', status: 200, body: { subject: expect.any(String) as string } },
      { id: '1', status: 429, headers: { 'retry-after': '2' } },
      { id: '0', status: 200 },
    ]);
    const many = Array.from({ length: 21 }, (_, id) => ({
      id: String(id),
      method: 'GET',
      url: '/me',
    }));
    expect((await ann.send('POST', '$batch', { requests: many })).status).toBe(400);
    expect(stub.violations.splice(0).join()).toContain('more than 20');
  });

  it('refuses the fifth request at a time and the request over the window', async () => {
    stub.settings.latencyMs = 50;
    const five = await Promise.all(Array.from({ length: 5 }, () => ann.send('GET', 'me/messages')));
    expect(ordered(five)).toEqual([200, 200, 200, 200, 429]);
    stub.settings.latencyMs = 0;
    stub.settings.requestsPerWindow = 6;
    expect((await ann.send('GET', 'me/messages')).status).toBe(200);
    stub.settings.sendsRetryAfter = false;
    const limited = await ann.send('GET', 'me/messages');
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, null]);
    expect(stub.world.quotas.useOf(ANN)).toMatchObject({ mostConcurrent: 5, refusals: 2 });
  });

  it('works on a batch four at a time, or refuses the fifth, as set', async () => {
    const requests = Array.from({ length: 8 }, (_, id) => ({
      id: String(id),
      method: 'GET',
      url: '/me/mailFolders/inbox',
    }));
    const statuses = async () => {
      const { body } = await ann.send('POST', '$batch', { requests });
      return ordered(body['responses'] as Json[]);
    };
    expect(await statuses()).toEqual(requests.map(() => 200));
    stub.settings.batch = 'throttled';
    expect(await statuses()).toEqual([200, 200, 200, 200, 429, 429, 429, 429]);
  });
});
