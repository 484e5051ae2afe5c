import type { Writable } from 'node:stream';
import { Injectable, Logger } from '@nestjs/common';
import { Credentials } from '../platform/auth/credentials.ts';
import type { AccountPrincipal } from '../platform/auth/principal.ts';
import { DomainError } from '../platform/base/errors/domain-error.ts';
import { KeyedLimit } from '../platform/base/concurrency/keyed-limit.ts';
import { AccountPlaces } from '../platform/changes/account-places.ts';
import { ChangeWatch, type Waiting } from './change-watch.ts';
import { maySee } from '../platform/changes/delta-types.ts';
import { NotWelcomeError } from './deltas.errors.ts';
import { type DeltaPage, type DeltaRequest, DeltasService } from './deltas.service.ts';

/** At once for one account (api facts 1.8). */
const MOST_LONG_POLLS = 10;
const MOST_STREAMS = 10;

const HEARTBEAT_MS = 1_000;
/** How long a stream rests when the database cannot be read. */
const REST_MS = 1_000;
/** What a stream reads at a time: so much memory a client can tie up that takes nothing. */
const STREAM_LIMIT = 50;
const STREAM_BYTES = 256 * 1024;
/** A commit may concern hundreds of streams: they must not have all connections of the pool. */
const READS_AT_ONCE = 4;

/** Who waits, and until when. */
export interface DeltaReader {
  account: AccountPrincipal;
  /** The token that was presented: asked about again before anything is told. */
  token: string;
  timeoutMs: number;
}

/** What a stream writes to. */
export type DeltaSink = Pick<Writable, 'write' | 'writableNeedDrain' | 'once' | 'off'>;

/** Waiting for changes: until there are some, or for as long as somebody listens (api facts 9). */
@Injectable()
export class DeltaWaits {
  readonly #log = new Logger(DeltaWaits.name);
  readonly #longPolls = new AccountPlaces('/delta/longpoll', MOST_LONG_POLLS);
  readonly #streams = new AccountPlaces('/delta/streaming', MOST_STREAMS);
  readonly #reads = new KeyedLimit(READS_AT_ONCE);

  constructor(
    private readonly deltas: DeltasService,
    private readonly watch: ChangeWatch,
    private readonly credentials: Credentials,
  ) {}

  /**
   * Answers as soon as there are deltas, and without any when the time is over, the caller has gone or the process stops.
   * @param onGone calls what it is given when the caller goes away
   * @throws {InvalidCursorError} @throws {ExpiredCursorError} @throws {TooManyReadersError}
   */
  longPoll(
    reader: DeltaReader,
    request: DeltaRequest,
    onGone: (gone: () => void) => void,
  ): Promise<DeltaPage> {
    const { accountId } = reader.account;
    return this.#longPolls.hold(accountId, () =>
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
   * Writes deltas as they come, one line of JSON each, and an empty line each second in which there is none; at the
   * pace of the reader. Ends when the time is over, the reader has gone, his token is not good any more, or the
   * process stops.
   * @param open called once, when nothing can be refused any more
   * @throws {InvalidCursorError} @throws {ExpiredCursorError} @throws {TooManyReadersError} before `open` is called
   */
  stream(
    reader: DeltaReader,
    request: Omit<DeltaRequest, 'limit'>,
    onGone: (gone: () => void) => void,
    open: () => DeltaSink,
  ): Promise<void> {
    return this.#streams.hold(reader.account.accountId, () =>
      this.#during(reader, onGone, async (waiting) => {
        const bounds = { limit: STREAM_LIMIT, bytes: STREAM_BYTES };
        const first = await this.#read(reader, { ...request, ...bounds }, waiting);
        const sink = open();
        sink.write('\n');
        const heart = setInterval(() => {
          // Who does not take the last one has no use for another.
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
    work: (waiting: Waiting) => Promise<T>,
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

  async #read(reader: DeltaReader, request: DeltaRequest, waiting: Waiting): Promise<DeltaPage> {
    const page = await this.#reads.run('', () => this.deltas.read(reader.account, request));
    waiting.seenTo = page.seenTo;
    if (page.deltas.length > 0) await this.#assertWelcome(reader, request);
    return page;
  }

  /** Goes on trying while the database cannot be read. @returns undefined: the stream is to end */
  async #readOn(
    reader: DeltaReader,
    request: DeltaRequest,
    waiting: Waiting,
  ): Promise<DeltaPage | undefined> {
    while (!waiting.ended) {
      try {
        return await this.#read(reader, request, waiting);
      } catch (error) {
        if (error instanceof DomainError) return undefined;
        this.#log.warn(`stream of account ${reader.account.accountId}: ${String(error)}`);
        await waiting.unlessEnded((done) => {
          const rested = setTimeout(done, REST_MS);
          return () => clearTimeout(rested);
        });
      }
    }
    return undefined;
  }

  /** A token can be revoked, and scopes be taken away, while its owner waits. @throws {NotWelcomeError} */
  async #assertWelcome({ account, token }: DeltaReader, { types }: DeltaRequest): Promise<void> {
    const now = await this.credentials.accountByToken(token);
    const welcome =
      now?.accountId === account.accountId &&
      now.billingState !== 'cancelled' &&
      types.every((type) => maySee(now.scopes, type));
    if (!welcome) throw new NotWelcomeError();
  }
}

/** @returns where to go on: a stream that waits does not keep what it has written. Undefined: it has ended */
async function writeAll(
  sink: DeltaSink,
  { deltas, end, more }: DeltaPage,
  waiting: Waiting,
): Promise<Pick<DeltaPage, 'end' | 'more'> | undefined> {
  for (const delta of deltas) {
    if (waiting.ended) return undefined;
    sink.write(`${JSON.stringify(delta)}\n`);
    while (sink.writableNeedDrain && !waiting.ended) await drained(sink, waiting);
  }
  return waiting.ended ? undefined : { end, more };
}

/** A sink that is destroyed never drains: whoever waits is told by his end. */
function drained(sink: DeltaSink, waiting: Waiting): Promise<void> {
  return waiting.unlessEnded((done) => {
    sink.once('drain', done);
    return () => sink.off('drain', done);
  });
}
