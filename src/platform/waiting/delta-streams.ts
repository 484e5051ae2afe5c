import type { Writable } from 'node:stream';
import { Logger } from '@nestjs/common';
import { DomainError } from '../base/errors/domain-error.ts';
import { asciiJson } from '../base/text/ascii-json.ts';
import type { WaitingReader } from './waiting-reader.ts';

const HEARTBEAT_MS = 1_000;
/** Pause of a stream in milliseconds after a failed database read. */
const REST_MS = 1_000;

/** What a stream reads at a time. Limits the memory that a slow client can use. */
export const STREAM_PAGE = { limit: 50, bytes: 256 * 1024 } as const;

/** Deltas after a cursor. */
export interface ReadPage<T = unknown> {
  start: string;
  /** Cursor to continue from; equals `start` if there is nothing new. */
  end: string;
  deltas: T[];
  /** Whether there is more to read after `end` now. */
  more: boolean;
}

/** Where a stream writes its deltas. */
export type DeltaSink = Pick<Writable, 'write' | 'writableNeedDrain' | 'once' | 'off'>;

/** Reads the page after a cursor. `First` is the type of the cursor that the client sends. */
export type ReadAfter<P extends ReadPage, First> = (cursor: string | First) => Promise<P>;

/**
 * Reads pages until one has deltas. Returns a page without deltas when the wait ends.
 * @throws what `read` throws
 */
export async function untilDeltas<P extends ReadPage, First>(
  waiting: WaitingReader,
  cursor: First,
  read: ReadAfter<P, First>,
): Promise<P> {
  const first = await read(cursor);
  let page = first;
  while (page.deltas.length === 0 && (page.more || (await waiting.next())))
    page = { ...(await read(page.end)), start: first.start };
  return page;
}

const log = new Logger('DeltaStreams');

/** A stream of deltas. */
export interface DeltaStream<First> {
  waiting: WaitingReader;
  cursor: First;
  /** Reads pages as small as `STREAM_PAGE`. */
  read: ReadAfter<ReadPage, First>;
  /** Called once, after the first read. */
  open: () => DeltaSink;
  /** What is streamed, for log lines. */
  name: string;
}

/**
 * Writes deltas as they occur, one line of ASCII JSON each, at the pace of the client. Writes an
 * empty line every second as a heartbeat. Ends when the wait ends, or when `read` throws a
 * `DomainError` after the first page. A read that fails otherwise is repeated after a second.
 * @throws what the first `read` throws
 */
export async function streamDeltas<First>(stream: DeltaStream<First>): Promise<void> {
  const { waiting, cursor, read, open } = stream;
  const first = await read(cursor);
  const sink = open();
  sink.write('\n');
  const heart = setInterval(() => {
    // A client that has not read the last heartbeat does not need another.
    if (!sink.writableNeedDrain) sink.write('\n');
  }, HEARTBEAT_MS);
  try {
    let from = await writeAll(sink, first, waiting);
    while (from && (from.more || (await waiting.next()))) {
      const page = await readOn(stream, from.end);
      from = page && (await writeAll(sink, page, waiting));
    }
  } finally {
    clearInterval(heart);
  }
}

/** Retries while the database cannot be read. @returns `undefined` if the stream must end */
async function readOn<First>(
  { waiting, read, name }: DeltaStream<First>,
  cursor: string,
): Promise<ReadPage | undefined> {
  while (!waiting.ended) {
    try {
      return await read(cursor);
    } catch (error) {
      if (error instanceof DomainError) return undefined;
      log.warn(`stream of ${name}: could not read and will retry: ${String(error)}`);
      await waiting.unlessEnded((done) => {
        const rested = setTimeout(done, REST_MS);
        return () => clearTimeout(rested);
      });
    }
  }
  return undefined;
}

/**
 * @returns the position to continue from, or `undefined` if the wait has ended. The written
 *   deltas are not returned, so that a waiting stream does not keep them in memory.
 */
async function writeAll(
  sink: DeltaSink,
  { deltas, end, more }: ReadPage,
  waiting: WaitingReader,
): Promise<Pick<ReadPage, 'end' | 'more'> | undefined> {
  for (const delta of deltas) {
    if (waiting.ended) return undefined;
    sink.write(`${asciiJson(delta)}\n`);
    while (sink.writableNeedDrain && !waiting.ended) await drained(sink, waiting);
  }
  return waiting.ended ? undefined : { end, more };
}

/** Resolves on `drain`. A destroyed sink never drains; then the end of the wait resolves it. */
function drained(sink: DeltaSink, waiting: WaitingReader): Promise<void> {
  return waiting.unlessEnded((done) => {
    sink.once('drain', done);
    return () => sink.off('drain', done);
  });
}
