import { createEmulator, type Emulator } from 'emulate';
import { S3Stub, s3Error } from '../../../../test/support/object-store/s3-stub.ts';
import { freePort } from '../../../../test/support/emulators/emulator-proxy.ts';
import { type ObjectsConfig, objectsVariables } from '../../config/sections/objects-config.ts';
import { ObjectDamagedError, ObjectStoreUnavailableError } from '../object-errors.ts';
import { deletePrefix, type ObjectCheck } from '../object-store.ts';
import type { S3Limits } from './s3-requests.ts';
import { S3Store } from './s3-store.ts';

const stores: S3Store[] = [];
let stub: S3Stub;
beforeEach(async () => {
  stub = await new S3Stub().listen();
});
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
  await stub.stop();
  expect(stub.violations).toEqual([]);
});

const FAST: Partial<S3Limits> = { pauseMs: 1 };
const configOf = (url: string): ObjectsConfig => objectsVariables.OBJECTS_URL.parse(url)!;

function storeAt(url: string, limits = FAST): S3Store {
  const store = new S3Store(configOf(url), limits);
  stores.push(store);
  return store;
}

const reasonOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'it succeeded',
    (error: unknown) => {
      if (error instanceof ObjectStoreUnavailableError || error instanceof ObjectDamagedError)
        return error.reason;
      throw error;
    },
  );

const put = async (store: S3Store, contents: Buffer): Promise<ObjectCheck> => {
  return { mostBytes: contents.length, digest: await store.put('a/1/x', contents) };
};

const keysOf = (store: S3Store, prefix = '', after = '') => store.list(prefix, after);

describe('S3Store', () => {
  const contents = Buffer.from('Grüße');

  it('returns the bytes that were stored, also from an empty object', async () => {
    const store = storeAt(stub.url());
    for (const [key, bytes] of [
      ['a/1/x', contents],
      ['a/1/y', Buffer.alloc(0)],
      ['a/1/z', Buffer.alloc(300_000, 'z')],
    ] as const) {
      const digest = await store.put(key, bytes);
      expect(await store.get(key, { mostBytes: bytes.length, digest })).toEqual(bytes);
    }
  });

  it('keeps its objects in the folder of the URL, and sees only those', async () => {
    const check = await put(storeAt(stub.url('prod')), contents);
    await storeAt(stub.url('test')).put('a/1/y', contents);
    expect([...stub.objects.keys()]).toEqual(['prod/a/1/x', 'test/a/1/y']);
    expect(await keysOf(storeAt(stub.url('prod')))).toEqual(['a/1/x']);
    expect(await storeAt(stub.url('prod')).get('a/1/x', check)).toEqual(contents);
  });

  it('lists in pages', async () => {
    stub.pageSize = 2;
    const store = storeAt(stub.url('prod'));
    for (const key of ['a/1/x', 'a/2/x', 'a/3/x', 'b/1/x']) await store.put(key, contents);
    expect(await keysOf(store, 'a/')).toEqual(['a/1/x', 'a/2/x']);
    expect(await keysOf(store, 'a/', 'a/2/x')).toEqual(['a/3/x']);
    expect(await keysOf(store, 'a/', 'a/3/x')).toEqual([]);
  });

  it('deletes all pages of a prefix and nothing else', async () => {
    stub.pageSize = 2;
    const store = storeAt(stub.url());
    for (const key of ['a/1/x', 'a/2/x', 'a/3/x', 'ab/1/x']) await store.put(key, contents);
    expect(await deletePrefix(store, 'a/')).toBe(3);
    expect([...stub.objects.keys()]).toEqual(['ab/1/x']);
    await expect(deletePrefix(store, 'a')).rejects.toThrow('end with');
  });

  it('accepts that an object to be deleted is gone', async () => {
    await storeAt(stub.url()).delete('a/1/x');
  });

  it.each(['', '/a', 'a//b', 'a/../b', 'a b', 'ä', `a/${'x'.repeat(200)}`])(
    'refuses the key "%s"',
    async (key) => {
      await expect(storeAt(stub.url()).put(key, contents)).rejects.toThrow('a key has');
    },
  );
});

describe('S3Store, when the store has trouble', () => {
  const contents = Buffer.from('<p>hello</p>');

  it.each([
    ['HTTP 500', s3Error(500, 'InternalError')],
    ['HTTP 503 SlowDown', s3Error(503, 'SlowDown')],
    ['HTTP 429', { status: 429 }],
    ['a cut connection', 'drop'],
    ['a connection that is cut after the work', 'drop-after-done'],
    ['a gateway that gave up after the work', '504-after-done'],
  ] as const)('repeats requests after %s', async (_, answer) => {
    const store = storeAt(stub.url());
    stub.faults.add({ answer, times: 2 });
    const check = await put(store, contents);
    stub.faults.add({ answer, times: 3 });
    expect(await store.get('a/1/x', check)).toEqual(contents);
    expect(await store.check()).toBeNull();
  });

  it('repeats a request that had no answer in time', async () => {
    const store = storeAt(stub.url(), { attemptMs: 300, pauseMs: 1 });
    stub.faults.add({ answer: 'none', until: new Promise(() => undefined) });
    await store.put('a/1/x', contents);
    expect(stub.requests.length).toBe(2);
  });

  it.each([
    ['a wrong secret', (url: string) => url.replace('se%2F', 'no%2F'), '403 SignatureDoesNotMatch'],
    ['an unknown key', (url: string) => url.replace('AKIA', 'AKIB'), '403 InvalidAccessKeyId'],
    ['a wrong region', (url: string) => url.replace('eu-', 'us-'), '403 AuthorizationHeader'],
    ['a bucket that is gone', (url: string) => url.replace('/mail-', '/no-'), '404 NoSuchBucket'],
  ])('does not repeat a request after %s, and names the cause', async (_, change, reason) => {
    const store = storeAt(change(stub.url()));
    const check = { mostBytes: contents.length, digest: Buffer.alloc(32) };
    expect(await reasonOf(store.get('a/1/x', check))).toContain(reason);
    expect(await reasonOf(store.put('a/1/x', contents))).toContain(reason);
    expect(stub.requests.length).toBe(2);
  });

  it('takes a 404 of something else than the store for trouble, not for a lost object', async () => {
    const store = storeAt(stub.url());
    stub.faults.add({ answer: { status: 404, raw: '<html>no backend</html>' } });
    const check = { mostBytes: 1, digest: Buffer.alloc(32) };
    expect(await reasonOf(store.get('a/1/x', check))).toBe('404');
  });

  it('gives up after four attempts, and refuses requests once five have failed', async () => {
    const store = storeAt(stub.url());
    stub.faults.add({ answer: s3Error(503, 'SlowDown'), times: 100 });
    expect(await reasonOf(store.put('a/1/x', contents))).toBe('503 SlowDown');
    expect(stub.requests.length).toBe(4);
    expect(await reasonOf(store.list('', ''))).toBe('503 SlowDown');
    expect(await store.check()).toBe('503 SlowDown');
    await expect(store.delete('a/1/x')).rejects.toMatchObject({
      kind: 'unavailable',
      details: { retryAfterSeconds: 2 },
    });
    expect(stub.requests.length).toBe(5);
  });

  it('says that nothing listens', async () => {
    const store = storeAt('http://key:secret@127.0.0.1:1/bucket');
    expect(await reasonOf(store.list('', ''))).toContain('ECONNREFUSED');
  });

  it('is checked by a request if it has not been used, and is well once it has worked', async () => {
    const store = storeAt(stub.url());
    stub.faults.add({ answer: s3Error(403, 'AccessDenied') });
    expect(await store.check()).toBe('403 AccessDenied');
    expect(await store.check()).toBeNull();
    expect(await store.check()).toBeNull();
    expect(stub.requests.length).toBe(2);
  });

  it('shows neither the secret nor the host to clients', async () => {
    const store = storeAt(stub.url());
    stub.faults.add({ answer: s3Error(403, 'AccessDenied') });
    const error: unknown = await store.put('a/1/x', contents).catch((reason: unknown) => reason);
    expect(JSON.stringify(error) + String(error)).not.toMatch(/cret|127\.0\.0\.1|mail-bodies/);
  });
});

describe('S3Store, when the store lies', () => {
  const contents = Buffer.from('<p>this is the body</p>');

  it.each<[string, string, (stored: Buffer) => Buffer | null]>([
    ['one other byte', 'other contents', (stored) => Buffer.from(stored).fill('!', 3, 4)],
    ['a shorter object', 'other contents', (stored) => stored.subarray(1)],
    ['a longer object', 'is longer', (stored) => Buffer.concat([stored, stored])],
    ['an endless object', 'is longer', () => Buffer.alloc(5_000_000)],
    ['nothing', 'other contents', () => Buffer.alloc(0)],
    ['another object', 'other contents', () => Buffer.from('another')],
    ['no such object', 'is missing', () => null],
  ])('never returns %s', async (_, reason, lie) => {
    const store = storeAt(stub.url());
    const check = await put(store, contents);
    stub.lie = (_key, stored) => lie(stored);
    expect(await reasonOf(store.get('a/1/x', check))).toContain(reason);
    // The store answers, so its requests go on.
    expect(await store.check()).toBeNull();
  });

  it('reads an object once more, because a proxy may have damaged the answer', async () => {
    const store = storeAt(stub.url());
    const check = await put(store, contents);
    stub.faults.add({ answer: { status: 200, raw: 'oops' } });
    expect(await store.get('a/1/x', check)).toEqual(contents);
  });

  it('repeats a request whose answer ends before its announced length', async () => {
    const store = storeAt(stub.url());
    const check = await put(store, contents);
    const headers = { 'content-length': '23', connection: 'close' };
    stub.faults.add({ answer: { status: 200, headers, raw: 'short' } });
    expect(await store.get('a/1/x', check)).toEqual(contents);
  });

  const list = (text: string) => ({
    status: 200,
    raw: `<ListBucketResult>${text}</ListBucketResult>`,
  });
  const entry = (key: string) =>
    `<Contents><Key>${key}</Key><Size>1</Size><LastModified>2026-01-01T00:00:00Z</LastModified></Contents>`;

  it.each([
    ['keys outside of the prefix', list(entry('b/1/x')), 'other objects'],
    ['keys before the position', list(entry('a/0/x')), 'other objects'],
    ['an empty page with a next one', list('<IsTruncated>true</IsTruncated>'), 'other objects'],
    ['an object without a key', list('<Contents><Key></Key></Contents>'), 'other objects'],
    ['HTML', { status: 200, raw: '<html></html>' }, 'cannot be read'],
    ['half a list', { status: 200, raw: '<ListBucketResult>' }, 'cannot be read'],
    [
      'a DTD',
      { status: 200, raw: '<!DOCTYPE x [<!ENTITY e "ee">]><ListBucketResult/>' },
      'cannot be read',
    ],
    ['three megabytes', list(' '.repeat(3_000_000)), 'cannot be read'],
  ])('refuses a list with %s', async (_, answer, reason) => {
    const store = storeAt(stub.url());
    stub.faults.add({ answer });
    expect(await reasonOf(store.list('a/', 'a/1/x'))).toContain(reason);
  });
});

describe('S3Store, at the S3 of the package emulate', () => {
  let emulator: Emulator;
  let origin: string;
  beforeAll(async () => {
    const port = await freePort();
    origin = `127.0.0.1:${port}`;
    emulator = await createEmulator({
      service: 'aws',
      port,
      hostname: '127.0.0.1',
      seed: { aws: { s3: { buckets: [{ name: 'mail-bodies' }] } } },
    });
  });
  afterAll(() => emulator.close());

  it('stores, reads, lists and deletes objects', async () => {
    const store = storeAt(`http://key:secret@${origin}/mail-bodies/prod`);
    const contents = Buffer.from([0, 255, 128, 10, 13]);
    const check = await put(store, contents);
    await store.put('a/2/y', contents);
    await store.put('b/1/z', contents);
    expect(await store.get('a/1/x', check)).toEqual(contents);
    expect(await keysOf(store, '', 'a/1/x')).toEqual(['a/2/y', 'b/1/z']);
    expect(await deletePrefix(store, 'a/')).toBe(2);
    expect(await keysOf(store)).toEqual(['b/1/z']);
    expect(await reasonOf(store.get('a/1/x', check))).toBe('is missing');
  });
});
