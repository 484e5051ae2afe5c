import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import type { RemoteMessage } from '../providers/connector.ts';
import { type ParsedMessage, parseHeaders, parseMessage, parseParts, UNREADABLE } from './mime-parser.ts';
import type { ParseRequest, ParseResult } from './parse-thread.ts';

/** The content of a message, as far as there is one. */
export type MessageContent = NonNullable<RemoteMessage['content']>;

/** What became of a message: `failure` says why its content could not be read; the rest is what is known then. */
export interface ReadMessage {
  parsed: ParsedMessage;
  failure: string | null;
}

/** So little is parsed where it is: a thread costs more. */
const HERE_BYTES = 128 * 1024;
const HERE_MESSAGES = 20;
const MOST_THREADS = Math.min(4, Math.max(1, availableParallelism() - 1));
/** A thread that has nothing to do ends after this. */
const IDLE_MS = 30_000;
/** Memory of a thread beyond the messages themselves. */
const HEAP_MB = 512;
/** Time for a batch, and for each megabyte of it besides: far more than any parser needs. */
const BASE_LIMIT_MS = 20_000;
const LIMIT_MS_PER_MB = 2_000;

/**
 * Parses messages in threads of their own, a few per process, with limits of time and memory: what would take a
 * process with it ends its thread only, and is found by parsing the batch once more, one by one.
 */
@Injectable()
export class MessageParser implements OnModuleDestroy {
  readonly #idle: ParserThread[] = [];
  readonly #all = new Set<ParserThread>();
  readonly #waiting: ((thread: ParserThread) => void)[] = [];
  /** By the message; null: it is to be parsed again, with care. */
  readonly #ahead = new WeakMap<Buffer, Promise<ParseResult | null>>();

  /**
   * Reads messages, in order. Never throws for what a message contains.
   * @param guarded in a thread, one by one, however small they are
   */
  async read(contents: readonly MessageContent[], guarded: boolean): Promise<ReadMessage[]> {
    const mimes = contents.flatMap((content) => (content.kind === 'mime' ? [content.mime] : []));
    const results = (await this.#parseAll(mimes, guarded)).values();
    const read: ReadMessage[] = [];
    for (const content of contents) {
      if (content.kind === 'mime') read.push(await readMime(content.mime, results.next().value));
      else if (content.kind === 'parts') read.push(await readParts(content.parts));
      else read.push({ parsed: UNREADABLE, failure: content.reason });
    }
    return read;
  }

  /** Begins to parse messages that `read` will be asked for, while something else keeps their turn from coming. */
  readAhead(contents: readonly MessageContent[]): void {
    const mimes = contents.flatMap((content) => (content.kind === 'mime' ? [content.mime] : []));
    if (isLittle(mimes)) return;
    const results = this.#inThread(mimes).catch(() => null);
    for (const [index, mime] of mimes.entries()) {
      this.#ahead.set(
        mime,
        results.then((all) => all?.[index] ?? null),
      );
    }
  }

  async onModuleDestroy(): Promise<void> {
    await Promise.all([...this.#all].map((thread) => thread.end()));
  }

  async #parseAll(mimes: readonly Buffer[], guarded: boolean): Promise<ParseResult[]> {
    const done = new Map<Buffer, ParseResult>();
    for (const mime of guarded ? [] : mimes) {
      const result = await this.#ahead.get(mime);
      if (result) done.set(mime, result);
    }
    const left = (await this.#parseNow(mimes.filter((mime) => !done.has(mime)), guarded)).values(); // prettier-ignore
    return mimes.map((mime) => done.get(mime) ?? left.next().value ?? { reason: 'not parsed' });
  }

  async #parseNow(mimes: readonly Buffer[], guarded: boolean): Promise<ParseResult[]> {
    if (mimes.length === 0) return [];
    if (!guarded) {
      if (isLittle(mimes)) return Promise.all(mimes.map(parseHere));
      const results = await this.#inThread(mimes).catch(() => null);
      if (results) return results;
    }
    const results: ParseResult[] = [];
    for (const mime of mimes) {
      const alone = this.#inThread([mime]).catch((error: Error) => [{ reason: error.message }]);
      results.push(...(await alone));
    }
    return results;
  }

  /** @throws when the thread did not survive it, or takes too long */
  async #inThread(mimes: readonly Buffer[]): Promise<ParseResult[]> {
    const thread = await this.#take();
    try {
      return await thread.parse(mimes);
    } finally {
      this.#giveBack(thread);
    }
  }

  #take(): Promise<ParserThread> | ParserThread {
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) if (idle.alive) return idle;
    if (this.#all.size < MOST_THREADS) return this.#start();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #start(): ParserThread {
    const thread = new ParserThread((ended: ParserThread) => {
      this.#all.delete(ended);
      const next = this.#waiting.shift();
      if (next) next(this.#start());
    });
    this.#all.add(thread);
    return thread;
  }

  #giveBack(thread: ParserThread): void {
    // One that has ended makes room for the next by its `onEnd`.
    if (!thread.alive) return;
    const next = this.#waiting.shift();
    if (next) next(thread);
    else this.#idle.push(thread);
  }
}

function isLittle(mimes: readonly Buffer[]): boolean {
  const bytes = mimes.reduce((sum, { length }) => sum + length, 0);
  return bytes <= HERE_BYTES && mimes.length <= HERE_MESSAGES;
}

async function parseHere(mime: Buffer): Promise<ParseResult> {
  try {
    return { parsed: await parseMessage(mime) };
  } catch (error) {
    return { reason: error instanceof Error ? error.message : String(error) };
  }
}

async function readMime(mime: Buffer, result: ParseResult | undefined): Promise<ReadMessage> {
  if (result && 'parsed' in result) return { parsed: result.parsed, failure: null };
  return { parsed: await parseHeaders(mime), failure: result?.reason ?? 'not parsed' };
}

async function readParts(parts: Extract<MessageContent, { kind: 'parts' }>['parts']): Promise<ReadMessage> {
  try {
    return { parsed: await parseParts(parts), failure: null };
  } catch (error) {
    const failure = error instanceof Error ? error.message : String(error);
    return { parsed: await parseHeaders(parts.headers), failure };
  }
}

/** As the compiled program has it, or as the sources do. */
const THREAD = new URL(
  import.meta.url.endsWith('.ts') ? './parse-thread.ts' : './parse-thread.js',
  import.meta.url,
);

/** One thread; one batch at a time. */
class ParserThread {
  readonly #worker = new Worker(THREAD, { resourceLimits: { maxOldGenerationSizeMb: HEAP_MB } });
  #settle: { resolve(results: ParseResult[]): void; reject(error: Error): void } | null = null;
  #idleTimer: NodeJS.Timeout | undefined;
  alive = true;

  constructor(onEnd: (thread: ParserThread) => void) {
    // Nobody waits for a thread when the process ends, but for its answer somebody does.
    this.#worker.unref();
    this.#worker.on('message', (results: ParseResult[]) => this.#settle?.resolve(results));
    this.#worker.on('error', (error: Error) => this.#fail(error));
    this.#worker.on('exit', () => {
      this.#fail(new Error('the parser ended'));
      onEnd(this);
    });
  }

  async parse(mimes: readonly Buffer[]): Promise<ParseResult[]> {
    clearTimeout(this.#idleTimer);
    const megabytes = mimes.reduce((sum, { length }) => sum + length, 0) / 2 ** 20;
    const limitMs = BASE_LIMIT_MS + megabytes * LIMIT_MS_PER_MB;
    const limit = setTimeout(() => {
      this.#fail(new Error(`parsing took more than ${Math.round(limitMs / 1000)} s`));
      void this.end();
    }, limitMs);
    try {
      return await new Promise((resolve, reject) => {
        this.#settle = { resolve, reject };
        this.#worker.postMessage({ mimes } satisfies ParseRequest, []);
      });
    } finally {
      clearTimeout(limit);
      this.#settle = null;
      this.#idleTimer = setTimeout(() => void this.end(), IDLE_MS).unref();
    }
  }

  async end(): Promise<void> {
    this.alive = false;
    clearTimeout(this.#idleTimer);
    await this.#worker.terminate();
  }

  #fail(error: Error): void {
    this.alive = false;
    this.#settle?.reject(error);
  }
}
