import type { Writable } from 'node:stream';
import { Injectable, Logger } from '@nestjs/common';
import { Credentials } from '../platform/auth/credentials.ts';
import type { AccountPrincipal } from '../platform/auth/principal.ts';
import { DomainError } from '../platform/base/errors/domain-error.ts';
import { KeyedLimit } from '../platform/base/concurrency/keyed-limit.ts';
import { asciiJson } from '../platform/base/text/ascii-json.ts';
import { AccountSlots } from '../platform/changes/account-slots.ts';
import { ChangeWatch, type ChangeWaiter } from './change-watch.ts';
import { mayRead } from '../platform/changes/delta-types.ts';
import { TokenNoLongerValidError } from './deltas.errors.ts';
import { type DeltaPage, type DeltaRequest, DeltasService } from './deltas.service.ts';

/** Most requests of each kind at the same time for one account. */
const MOST_LONG_POLLS = 10;
const MOST_STREAMS = 10;

const HEARTBEAT_MS = 1_000;
/** Pause of a stream in milliseconds after a failed database read. */
const REST_MS = 1_000;
/** Changes a stream reads at a time. Limits the memory that a slow client can use. */
const STREAM_LIMIT = 50;
const STREAM_BYTES = 256 * 1024;
/**
 * Most database reads at the same time. One commit may wake hundreds of streams, and they must
 * leave connections of the pool to other requests.
 */
const READS_AT_ONCE = 4;

/** The client that waits for changes, and for how long. */
export interface DeltaReader {
  account: AccountPrincipal;
  /** The presented access token. Checked again before each page of deltas is returned. */
  token: string;
  timeoutMs: number;
}

/** Where a stream writes its deltas. */
export type DeltaSink = Pick<Writable, 'write' | 'writableNeedDrain' | 'once' | 'off'>;

/** Long polls and streams: requests that wait for changes. */
@Injectable()
export class DeltaWaits {
  readonly #log = new Logger(DeltaWaits.name);
  readonly #longPolls = new AccountSlots('/delta/longpoll', MOST_LONG_POLLS);
  readonly #streams = new AccountSlots('/delta/streaming', MOST_STREAMS);
  readonly #reads = new KeyedLimit(READS_AT_ONCE);

  constructor(
    private readonly deltas: DeltasService,
    private readonly watch: ChangeWatch,
    private readonly credentials: Credentials,
  ) {}

  /**
   * Returns as soon as there are deltas. Returns no deltas when the timeout ends, the client
   * disconnects or the process stops.
   * @param onGone registers a callback for the client's disconnect
   * @throws {InvalidCursorError} @throws {ExpiredCursorError} @throws {TooManyReadersError}
   */
  longPoll(
    reader: DeltaReader,
    request: DeltaRequest,
    onGone: (gone: () => void) => void,
  ): Promise<DeltaPage> {
    const { accountId } = reader.account;
    return this.#longPolls.run(accountId, () =>
      this.#during(reader, onGone, async (waiting) => {
        let page = await this.#read(reader, request, waiting);
        while (page.deltas.length === 0 && (page.more || (await waiting.next()))) {
          const next = await this.#read(reader, { ...request, cursor: page.end }, waiting);
          page = { ...next, start: request.cursor };
        }
        return page;
      }),
    );
  }

  /**
   * Writes deltas as they occur, one line of ASCII JSON each, at the pace of the client. Writes an
   * empty line every second as a heartbeat. Ends when the timeout ends, the client disconnects, the
   * token becomes invalid or the process stops.
   * @param open called once, after the last check that can refuse the request
   * @throws {InvalidCursorError} @throws {ExpiredCursorError} @throws {TooManyReadersError}
   *   before `open` is called
   */
  stream(
    reader: DeltaReader,
    request: Omit<DeltaRequest, 'limit'>,
    onGone: (gone: () => void) => void,
    open: () => DeltaSink,
  ): Promise<void> {
    return this.#streams.run(reader.account.accountId, () =>
      this.#during(reader, onGone, async (waiting) => {
        const bounds = { limit: STREAM_LIMIT, bytes: STREAM_BYTES };
        const first = await this.#read(reader, { ...request, ...bounds }, waiting);
        const sink = open();
        sink.write('\n');
        const heart = setInterval(() => {
          // A client that has not read the last heartbeat does not need another.
          if (!sink.writableNeedDrain) sink.write('\n');
        }, HEARTBEAT_MS);
        try {
          let from = await writeAll(sink, first, waiting);
          while (from && (from.more || (await waiting.next()))) {
            const page = await this.#readOn(
              reader,
              { ...request, ...bounds, cursor: from.end },
              waiting,
            );
            from = page && (await writeAll(sink, page, waiting));
          }
        } finally {
          clearInterval(heart);
        }
      }),
    );
  }

  #during<T>(
    { account, timeoutMs }: DeltaReader,
    onGone: (gone: () => void) => void,
    work: (waiting: ChangeWaiter) => Promise<T>,
  ): Promise<T> {
    return this.watch.during(account.accountId, async (waiting) => {
      const over = setTimeout(() => waiting.end(), timeoutMs);
      onGone(() => waiting.end());
      try {
        return await work(waiting);
      } finally {
        clearTimeout(over);
      }
    });
  }

  async #read(
    reader: DeltaReader,
    request: DeltaRequest,
    waiting: ChangeWaiter,
  ): Promise<DeltaPage> {
    const page = await this.#reads.run('', () => this.deltas.read(reader.account, request));
    waiting.seenTo = page.seenTo;
    if (page.deltas.length > 0) await this.#assertAuthorized(reader, request);
    return page;
  }

  /** Retries while the database cannot be read. @returns `undefined` if the stream must end */
  async #readOn(
    reader: DeltaReader,
    request: DeltaRequest,
    waiting: ChangeWaiter,
  ): Promise<DeltaPage | undefined> {
    while (!waiting.ended) {
      try {
        return await this.#read(reader, request, waiting);
      } catch (error) {
        if (error instanceof DomainError) return undefined;
        this.#log.warn(
          `stream of account ${reader.account.accountId}: could not read changes and will retry: ${String(error)}`,
        );
        await waiting.unlessEnded((done) => {
          const rested = setTimeout(done, REST_MS);
          return () => clearTimeout(rested);
        });
      }
    }
    return undefined;
  }

  /**
   * Checks the token again, because it can be revoked or lose scopes while the client waits.
   * @throws {TokenNoLongerValidError}
   */
  async #assertAuthorized({ account, token }: DeltaReader, { types }: DeltaRequest): Promise<void> {
    const now = await this.credentials.accountByToken(token);
    const authorized =
      now?.accountId === account.accountId &&
      now.billingState !== 'cancelled' &&
      types.every((type) => mayRead(now.scopes, type));
    if (!authorized) throw new TokenNoLongerValidError();
  }
}

/**
 * @returns the position to continue from, or `undefined` if the wait has ended. The written
 *   deltas are not returned, so that a waiting stream does not keep them in memory.
 */
async function writeAll(
  sink: DeltaSink,
  { deltas, end, more }: DeltaPage,
  waiting: ChangeWaiter,
): Promise<Pick<DeltaPage, 'end' | 'more'> | undefined> {
  for (const delta of deltas) {
    if (waiting.ended) return undefined;
    sink.write(`${asciiJson(delta)}\n`);
    while (sink.writableNeedDrain && !waiting.ended) await drained(sink, waiting);
  }
  return waiting.ended ? undefined : { end, more };
}

/** Resolves on `drain`. A destroyed sink never drains; then the end of the wait resolves it. */
function drained(sink: DeltaSink, waiting: ChangeWaiter): Promise<void> {
  return waiting.unlessEnded((done) => {
    sink.once('drain', done);
    return () => sink.off('drain', done);
  });
}
