import { createHash } from 'node:crypto';
import { Logger } from '@nestjs/common';
import type { ObjectsConfig } from '../../config/sections/objects-config.ts';
import { EgressClient } from '../../egress/egress-client.ts';
import { EgressPolicy } from '../../egress/egress-policy.ts';
import { objectsDamaged } from '../../metrics/object-metrics.ts';
import { ObjectDamagedError, ObjectStoreUnavailableError } from '../object-errors.ts';
import type { ObjectCheck, ObjectStore } from '../object-store.ts';
import { type ListPage, MOST_LIST_BYTES, readListPage } from './list-page.ts';
import { type S3Limits, S3Requests } from './s3-requests.ts';

/** Most bytes that are read of an answer whose body says at most what is wrong. */
const MOST_WORDS_BYTES = 4_096;
const KEY = /^[\w-]+(\/[\w-]+)*$/;
const MOST_KEY_CHARACTERS = 200;
const PAGE = 1_000;
/** Comes after every key: a list after it is empty. */
const LAST_KEY = 'z'.repeat(40);
/** A wrong answer may come from a broken proxy: the object is read once more. */
const READS = 2;

/** An `ObjectStore` in a bucket of an S3-compatible store, with addresses in path style. */
export class S3Store implements ObjectStore {
  readonly #log = new Logger('ObjectStore');
  readonly #folder: string;
  readonly #egress: EgressClient;
  readonly #requests: S3Requests;

  /** @param limits for tests */
  constructor(config: ObjectsConfig, limits: Partial<S3Limits> = {}) {
    // The operator has named this host, so it may be a private one: for this client alone.
    this.#egress = new EgressClient(new EgressPolicy([config.host]));
    this.#folder = config.folder;
    this.#requests = new S3Requests(config, this.#egress, limits);
  }

  async check(): Promise<string | null> {
    const { breaker } = this.#requests;
    if (breaker.hasWorked && breaker.problem === null) return null;
    try {
      await this.list('', LAST_KEY);
      return null;
    } catch (error) {
      if (error instanceof ObjectStoreUnavailableError) return error.reason;
      throw error;
    }
  }

  async put(key: string, contents: Buffer): Promise<Buffer> {
    await this.#requests.send({
      operation: 'put',
      method: 'PUT',
      path: this.#path(key),
      body: contents,
      mostBytes: MOST_WORDS_BYTES,
      accepted: ['200'],
    });
    return digestOf(contents);
  }

  async get(key: string, check: ObjectCheck): Promise<Buffer> {
    for (let read = 1; ; read += 1) {
      const { status, body } = await this.#requests.send({
        operation: 'get',
        method: 'GET',
        path: this.#path(key),
        // One byte more shows that the object is too long, and lets the connection live.
        mostBytes: Math.max(check.mostBytes + 1, MOST_WORDS_BYTES),
        accepted: ['200', '404 NoSuchKey'],
      });
      const wrong = wrongWith(status, body, check);
      if (wrong === null) return body;
      if (read < READS) continue;
      objectsDamaged.inc();
      this.#log.error({ key }, `an object in the object store ${wrong}`);
      throw new ObjectDamagedError(key, wrong);
    }
  }

  async delete(key: string): Promise<void> {
    await this.#requests.send({
      operation: 'delete',
      method: 'DELETE',
      path: this.#path(key),
      mostBytes: MOST_WORDS_BYTES,
      accepted: ['200', '204', '404 NoSuchKey'],
    });
  }

  async list(prefix: string, after: string): Promise<string[]> {
    const { body } = await this.#requests.send({
      operation: 'list',
      method: 'GET',
      path: '',
      query: {
        'list-type': '2',
        'max-keys': String(PAGE),
        prefix: this.#folder + prefix,
        ...(after === '' ? {} : { 'start-after': this.#folder + after }),
      },
      mostBytes: MOST_LIST_BYTES,
      accepted: ['200'],
    });
    const { keys, isTruncated } = readPage(body);
    const asked = keys
      .filter((key) => key.startsWith(this.#folder + prefix))
      .map((key) => key.slice(this.#folder.length))
      .filter((key) => key > after);
    // A store that ignores `prefix` or `start-after` would be listed without end.
    if (asked.length !== keys.length || (isTruncated && asked.length === 0))
      throw new ObjectStoreUnavailableError('listed other objects than were asked for', 60);
    return asked;
  }

  async close(): Promise<void> {
    await this.#egress.onApplicationShutdown();
  }

  #path(key: string): string {
    if (!KEY.test(key) || key.length > MOST_KEY_CHARACTERS)
      throw new Error('a key has letters, digits, "-", "_" and "/" only, at most 200');
    return this.#folder + key;
  }
}

const digestOf = (contents: Buffer): Buffer => createHash('sha256').update(contents).digest();

/** What is wrong with an answer to `get`, as the rest of a sentence; `null` if nothing is. */
function wrongWith(
  status: number,
  body: Buffer,
  { mostBytes, digest }: ObjectCheck,
): string | null {
  if (status === 404) return 'is missing';
  if (body.length > mostBytes) return 'is longer than what was stored';
  return digestOf(body).equals(digest) ? null : 'has other contents than were stored';
}

function readPage(body: Buffer): ListPage {
  try {
    return readListPage(body.toString());
  } catch (cause) {
    throw new ObjectStoreUnavailableError('sent a list that cannot be read', 60, cause);
  }
}
