import { secret } from '../log-watch.ts';
import type { StubAnswer, StubRequest } from '../remote-stub/messages.ts';
import { RemoteStub } from '../remote-stub/remote-stub.ts';
import { refusalOf, type Signers } from './signature-v4.ts';

const SIGNERS: Signers = {
  accessKeyId: 'AKIAEXAMPLE',
  // With the characters that a URL must encode.
  secretAccessKey: secret('secret of the object store', 'se/cret+of=the%store'),
  region: 'eu-test-1',
};
const BUCKET = 'mail-bodies';

interface StoredObject {
  contents: Buffer;
  /** Milliseconds of the stub's clock. */
  at: number;
}

/** An answer with which S3 refuses a request. */
export const s3Error = (status: number, code: string): StubAnswer => ({
  status,
  headers: { 'content-type': 'application/xml' },
  raw: `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code></Error>`,
});

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/**
 * An S3-compatible store with one bucket, in memory. It refuses wrong signatures and objects that
 * are stored twice, and makes the faults that a test adds. `lie` changes what it answers.
 */
export class S3Stub extends RemoteStub {
  readonly objects = new Map<string, StoredObject>();
  /** Replaces contents that are read. */
  lie: ((key: string, contents: Buffer) => Buffer | null) | null = null;
  /** Most objects of a page of a list. */
  pageSize = 1_000;

  /** The value of `OBJECTS_URL`. @param folder of the installation; default: none */
  url(folder = ''): string {
    const { host } = new URL(this.origin);
    const login = [SIGNERS.accessKeyId, SIGNERS.secretAccessKey].map(encodeURIComponent).join(':');
    return `http://${login}@${host}/${BUCKET}${folder && `/${folder}`}?region=${SIGNERS.region}`;
  }

  protected apiOf(): null {
    return null;
  }

  protected answer(request: StubRequest): StubAnswer {
    const refusal = refusalOf(request, SIGNERS, Date.now());
    if (refusal) return s3Error(403, refusal);
    const [, bucket, ...rest] = request.path.split('/');
    if (bucket !== BUCKET) return s3Error(404, 'NoSuchBucket');
    const key = rest.map(decodeURIComponent).join('/');
    if (key === '') return this.#list(request.query);
    if (request.method === 'PUT') return this.#put(key, request.body);
    if (request.method === 'GET') return this.#get(key);
    this.objects.delete(key);
    return { status: 204 };
  }

  #put(key: string, contents: Buffer): StubAnswer {
    const stored = this.objects.get(key);
    if (stored && !stored.contents.equals(contents))
      this.violations.push(`the object ${key} was overwritten`);
    this.objects.set(key, { contents, at: this.now() });
    return { status: 200, headers: { etag: '"0"' } };
  }

  #get(key: string): StubAnswer {
    const stored = this.objects.get(key);
    const contents = stored && (this.lie ? this.lie(key, stored.contents) : stored.contents);
    return contents ? { status: 200, raw: contents } : s3Error(404, 'NoSuchKey');
  }

  #list(query: URLSearchParams): StubAnswer {
    const after = query.get('start-after') ?? '';
    const prefix = query.get('prefix') ?? '';
    const all = [...this.objects.keys()].filter((key) => key.startsWith(prefix) && key > after);
    const keys = all.sort().slice(0, this.pageSize);
    const entries = keys.map((key) => {
      const { contents, at } = this.objects.get(key)!;
      return `<Contents><Key>${escaped(key)}</Key><LastModified>${new Date(at).toISOString()}</LastModified><ETag>"0"</ETag><Size>${contents.length}</Size><Owner><ID>1</ID></Owner></Contents>`;
    });
    const raw = `<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>${BUCKET}</Name><IsTruncated>${keys.length < all.length}</IsTruncated>${entries.join('')}</ListBucketResult>`;
    return { status: 200, headers: { 'content-type': 'application/xml' }, raw };
  }
}
