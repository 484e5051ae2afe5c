import type { Writable } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import { Injectable, Logger } from '@nestjs/common';
import { Credentials } from '../platform/auth/credentials.ts';
import type { AccountPrincipal } from '../platform/auth/principal.ts';
import { DomainError } from '../platform/base/errors/domain-error.ts';
import { KeyedLimit } from '../platform/base/concurrency/keyed-limit.ts';
import { asciiJson } from '../platform/base/text/ascii-json.ts';
import { AccountSlots } from '../platform/changes/account-slots.ts';
import { CallerWatch, WaitingCaller } from './caller-watch.ts';
import { ChangeWatch, type ChangeWaiter } from './change-watch.ts';
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
  /** The presented access token. Looked up again before each page of deltas is returned. */
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
    private readonly callers: CallerWatch,
  ) {}

  /**
   * Returns as soon as there are deltas. Returns no deltas when the timeout ends, the client
   * disconnects or the process stops. Fails within seconds if the token, the account or the
   * application is stopped.
   * @param onGone registers a callback for the client's disconnect
   * @throws {InvalidCursorError} @throws {ExpiredCursorError} @throws {TooManyReadersError}
   * @throws {TokenNoLongerValidError} @throws {ForbiddenError} @throws {ApplicationSuspendedError}
   */
  longPoll(
    reader: DeltaReader,
    request: DeltaRequest,
    onGone: (gone: () => void) => void,
  ): Promise<DeltaPage> {
    const { accountId } = reader.account;
    return this.#longPolls.run(accountId, () =>
      this.#during(reader, request, onGone, async (waiting, caller) => {
        let page = await this.#read(caller, request, waiting);
        while (page.deltas.length === 0 && (page.more || (await waiting.next()))) {
          const next = await this.#read(caller, { ...request, cursor: page.end }, waiting);
          page = { ...next, start: request.cursor };
        }
        if (caller.refusal) throw caller.refusal;
        return page;
      }),
    );
  }

  /**
   * Writes deltas as they occur, one line of ASCII JSON each, at the pace of the client. Writes an
   * empty line every second as a heartbeat. Ends when the timeout ends, the client disconnects, the
   * token, the account or the application is stopped, or the process stops.
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
      this.#during(reader, request, onGone, async (waiting, caller) => {
        const bounds = { limit: STREAM_LIMIT, bytes: STREAM_BYTES };
        const first = await this.#read(caller, { ...request, ...bounds }, waiting);
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
              caller,
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
    { account, token, timeoutMs }: DeltaReader,
    { types }: Pick<DeltaRequest, 'types'>,
    onGone: (gone: () => void) => void,
    work: (waiting: ChangeWaiter, caller: WaitingCaller) => Promise<T>,
  ): Promise<T> {
    return this.watch.during(account.accountId, async (waiting) => {
      const end = () => waiting.end();
      const over = setTimeout(end, timeoutMs);
      onGone(end);
      const caller = new WaitingCaller(this.credentials, account, token, types, end);
      try {
        return await this.callers.during(caller, () => work(waiting, caller));
      } finally {
        clearTimeout(over);
      }
    });
  }

  /** Reads as the caller that the token belongs to after the read, not before it. */
  async #read(
    caller: WaitingCaller,
    request: DeltaRequest,
    waiting: ChangeWaiter,
  ): Promise<DeltaPage> {
    for (;;) {
      const { account } = caller;
      const page = await this.#reads.run('', () => this.deltas.read(account, request));
      waiting.seenTo = page.seenTo;
      // What a page shows depends on scopes, also within one type of objects.
      if (page.deltas.length === 0 || isDeepStrictEqual(await caller.ask(), account)) return page;
    }
  }

  /** Retries while the database cannot be read. @returns `undefined` if the stream must end */
  async #readOn(
    caller: WaitingCaller,
    request: DeltaRequest,
    waiting: ChangeWaiter,
  ): Promise<DeltaPage | undefined> {
    while (!waiting.ended) {
      try {
        return await this.#read(caller, request, waiting);
      } catch (error) {
        if (error instanceof DomainError) return undefined;
        this.#log.warn(
          `stream of account ${caller.account.accountId}: could not read changes and will retry: ${String(error)}`,
        );
        await waiting.unlessEnded((done) => {
          const rested = setTimeout(done, REST_MS);
          return () => clearTimeout(rested);
        });
      }
    }
    return undefined;
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
