import { GrantsService } from '../../src/accounts/grants/grants.service.ts';
import { EventObjects } from '../../src/deltas/event-objects.ts';
import { TextBacklogRunner } from '../../src/mail/search/text-backlog.ts';
import { ObjectDeletions } from '../../src/mail/messages/objects/object-deletions.ts';
import { ObjectSweep } from '../../src/mail/messages/objects/object-sweep.ts';
import { BodyWorld, longText } from '../support/object-store/body-world.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { readMetrics } from '../support/metrics-page.ts';
import { judge } from '../support/promtool.ts';
import { MetricSources } from '../../src/platform/metrics/metric-sources.ts';
import { s3Error } from '../support/object-store/s3-stub.ts';
import type { TestAccount } from '../support/factories.ts';
import { deliver } from '../support/deliver.ts';

const DAY_MS = 24 * 3_600_000;
const NEVER = new AbortController().signal;
const [ONE, TWO] = [longText('one'), longText('two')];
const SHORT = '<p>short</p>';

describe('bodies in an object store', () => {
  const world = new BodyWorld();
  let ada: TestAccount;

  beforeAll(() => world.open());
  afterAll(() => world.close());
  beforeEach(async () => {
    ada = await world.account();
  });
  afterEach(() => {
    world.stub.faults.clear();
    world.stub.lie = null;
  });

  const get = (path: string) => world.api(ada, 'get', path);
  const idsOf = async (account = ada): Promise<string[]> =>
    (await world.api(account, 'get', '/messages?view=ids')).body;
  const away = () => world.stub.faults.add({ answer: s3Error(503, 'SlowDown'), times: 100_000 });
  /** Ends the trouble, and the pause of the circuit breaker. */
  const back = async () => {
    world.stub.faults.clear();
    for (;;) {
      const { body } = await world.api(ada, 'get', '/health/ready');
      const check = (body.checks as { name: string; ok: boolean }[]).find(
        ({ name }) => name === 'objects',
      );
      if (check?.ok) return;
    }
  };

  it('are stored there if they are long, and shown as before', async () => {
    await world.receive(ada, ONE, SHORT, TWO);
    const before = (await get('/messages')).body;
    await world.upload();
    expect(await world.places(ada)).toEqual({ objects: 2, database: 1 });
    expect(world.keys(ada)).toHaveLength(2);
    expect((await get('/messages')).body).toEqual(before);
    expect(await world.bodies(ada)).toEqual([ONE, SHORT, TWO].toSorted());
    const [id] = await idsOf();
    expect((await get(`/messages/${id}`)).body).toEqual(before[0]);
    const { body: changed } = await world.api(ada, 'put', `/messages/${id}`, { unread: false });
    expect(changed.body).toBe(before[0].body);
  });

  it('are shown by /delta and in the contents of webhook events', async () => {
    const { body } = await world.api(ada, 'post', '/delta/latest_cursor');
    await world.receive(ada, ONE);
    await world.upload();
    const { deltas } = (await get(`/delta?cursor=${body.cursor}&include_types=message`)).body;
    expect(deltas[0].attributes.body).toBe(ONE);
    const [id = ''] = await idsOf();
    const objects = await world.app.get(EventObjects).read(ada.id, 'message', [id]);
    expect(objects.get(id)?.full).toMatchObject({ body: ONE });
  });

  it('stay in the database for drafts, sent messages and messages without Message-ID', async () => {
    await world.api(ada, 'post', '/drafts', { subject: 'Draft', body: ONE }).expect(200);
    await deliver(world.server, ada, ['Message-ID:', 'Content-Type: text/html', '', TWO]);
    await world.receive(ada);
    await world.upload();
    expect(await world.places(ada)).toEqual({ objects: 0, database: 2 });
  });

  it('cost nothing but themselves while the store is away', async () => {
    await world.receive(ada, ONE, SHORT);
    await world.upload();
    const short = (await get('/messages')).body.find(
      ({ body }: { body: string }) => body === SHORT,
    );
    away();
    const refused = await get('/messages');
    expect([refused.status, refused.body.type]).toEqual([503, 'api_error']);
    expect(refused.headers['retry-after']).toMatch(/^\d+$/);
    expect(refused.body.message).toContain('store of message bodies');

    expect((await get(`/messages/${short.id}`)).body.body).toBe(SHORT);
    expect(await idsOf()).toHaveLength(2);
    expect((await get('/messages?view=count')).body).toEqual({ count: 2 });
    expect((await get('/threads?view=expanded')).body).toHaveLength(2);
    expect((await get('/threads/search?q=one')).status).toBe(200);
    const mail = { subject: 'Hello', body: longText('sent'), to: [{ email: 'b@elsewhere.test' }] };
    expect((await world.api(ada, 'post', '/send', mail)).status).toBe(200);

    await world.receive(ada, TWO);
    await world.upload();
    const [id] = await idsOf();
    expect((await get(`/messages/${id}`)).body.body).toBe(TWO);
    const ready = await get('/health/ready');
    expect([ready.status, ready.body.status]).toEqual([200, 'ready']);
    expect(ready.body.checks).toContainEqual({
      name: 'objects',
      ok: false,
      problem: '503 SlowDown',
    });

    await back();
    await world.clock.pass(60_000);
    await world.upload();
    expect((await world.places(ada)).objects).toBe(2);
    expect(await world.bodies(ada)).toEqual(expect.arrayContaining([ONE, SHORT, TWO]));
  });

  it('are never shown wrong: a damaged one is refused, and read from the provider again', async () => {
    await world.receive(ada, ONE);
    await world.upload();
    world.stub.lie = (_key, contents) => Buffer.from(contents).fill('!', 10, 11);
    expect((await get('/messages')).status).toBe(503);
    world.stub.lie = null;
    const [id] = await idsOf();
    const { body } = await get(`/messages/${id}`);
    expect(body.body).toBe(ONE);
    expect(await world.places(ada)).toEqual({ objects: 0, database: 1 });
  });

  it('are edited as drafts, once somebody has moved their message to the drafts', async () => {
    await world.receive(ada, ONE);
    await world.upload();
    const [id] = await idsOf();
    await world.query('update message set draft = true where id = $1', id);
    const change = { version: 0, subject: 'Other' };
    const { body } = await world.api(ada, 'put', `/drafts/${id}`, change).expect(200);
    expect([body.subject, body.body]).toEqual(['Other', ONE]);
    expect(await world.places(ada)).toEqual({ objects: 0, database: 1 });
  });

  it('give their messages new snippets and search documents', async () => {
    await world.receive(ada, longText('zeppelin'));
    await world.upload();
    await world.query('delete from message_search where account_id = $1', ada.id);
    await world.query('insert into text_backlog (account_id) values ($1)', ada.id);
    expect(await world.app.get(TextBacklogRunner).run()).toBe(1);
    expect((await get('/messages/search?q=zeppelin')).body).toHaveLength(1);
  });

  it('are removed after their account was deleted, even if the store was away', async () => {
    await world.receive(ada, ONE, TWO);
    const other = await world.account();
    await world.receive(other, ONE);
    await world.upload();
    expect([world.keys(ada).length, world.keys(other).length]).toEqual([2, 1]);
    await world.app.get(GrantsService).removeAndWait(world.application.id, ada.id);
    const deletions = world.app.get(ObjectDeletions);
    away();
    await deletions.run(NEVER);
    expect(world.keys(ada)).toHaveLength(2);
    const deleted = ada;
    ada = other;
    await back();
    await deletions.run(NEVER);
    await world.clock.pass(60_000);
    await deletions.run(NEVER);
    expect(await world.query('select 1 from object_deletion')).toEqual([]);
    expect([world.keys(deleted).length, world.keys(other).length]).toEqual([0, 1]);
    expect(await world.bodies(other)).toEqual([ONE]);
  });

  describeWith(['promtool'], 'that cannot be read', () => {
    const page = async () => {
      world.app.get(MetricSources).expire();
      return new Map([...(await readMetrics(world.server)), ['up', 1]]);
    };

    it('let alerts fire', async () => {
      await world.receive(ada, ONE, TWO);
      await world.upload();
      const healthy = await page();
      expect(healthy.get('carillon_object_uploads_waiting')).toBe(0);
      world.stub.lie = () => null;
      await get('/messages').expect(503);
      expect(await judge('CarillonObjectsDamaged', healthy, await page())).toBe('');
      away();
      await get('/messages');
      const [id] = await idsOf();
      for (let request = 0; request < 3; request++) await get(`/messages/${id}`);
      await world.receive(ada, longText('three'));
      await world.upload();
      const broken = await page();
      // The new message, and the damaged ones if they have been fetched again by now.
      expect([1, 2, 3]).toContain(broken.get('carillon_object_uploads_waiting'));
      expect(await judge('CarillonObjectStoreAway', healthy, broken)).toBe('');
      expect(await judge('CarillonNotReady', healthy, broken)).not.toBe('');
      await back();
    });
  });

  describe('whose messages are gone', () => {
    /** A whole sweep of a later day. */
    const sweepAfter = async (days: number) => {
      await world.clock.pass(days * DAY_MS);
      await world.app.get(ObjectSweep).runBriefly(NEVER);
    };
    const drop = async (id: string) => {
      await world.query('delete from message_content where message_id = $1', id);
      await world.query('delete from message where id = $1', id);
    };

    it('stay as long as the oldest backup may name them, and go then', async () => {
      await world.receive(ada, ONE, TWO);
      await world.upload();
      world.stub.objects.set('foreign.txt', { contents: Buffer.from('x'), at: 0 });
      const [gone = ''] = await idsOf();
      await drop(gone);
      await sweepAfter(0);
      await sweepAfter(29);
      expect(world.keys(ada)).toHaveLength(2);
      await sweepAfter(2);
      expect(world.keys(ada)).toHaveLength(1);
      expect(world.keys(ada)[0]).not.toContain(gone);
      expect(world.stub.objects.has('foreign.txt')).toBe(true);
      expect(await world.bodies(ada)).toHaveLength(1);
    });

    it('are found by a backup that is restored in time, and then stay', async () => {
      await world.receive(ada, ONE);
      await world.upload();
      await world.query(
        'create table backup as select * from message_content where account_id = $1',
        ada.id,
      );
      await world.query('delete from message_content where account_id = $1', ada.id);
      await sweepAfter(1);
      await sweepAfter(28);
      await world.query('insert into message_content select * from backup');
      await world.query('drop table backup');
      expect(await world.bodies(ada)).toEqual([ONE]);
      await sweepAfter(2);
      await sweepAfter(40);
      expect(await world.bodies(ada)).toEqual([ONE]);
    });

    it('are kept if the store lists other objects than it was asked for', async () => {
      await world.receive(ada, ONE);
      await world.upload();
      await world.clock.pass(2 * DAY_MS);
      const raw = '<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>';
      world.stub.faults.add({ answer: { status: 200, raw } });
      await expect(world.app.get(ObjectSweep).runBriefly(NEVER)).rejects.toThrow('store');
      expect(await world.bodies(ada)).toEqual([ONE]);
    });
  });
});
