import { Injectable } from '@nestjs/common';
import { task } from '../../platform/threads/task.ts';
import { TaskFailedError, WorkLimitError } from '../../platform/threads/work-errors.ts';
import type { WorkResult } from '../../platform/threads/runner.ts';
import { WorkThreads } from '../../platform/threads/work-threads.ts';
import type { ListedContent, MessageContent } from '../../providers/port/connector.ts';
import { MAX_HEADER_BYTES, UNREADABLE } from './mime-parser.ts';
import type { MessageInput, ReadMessage } from './read-message.ts';

export type { ReadMessage } from './read-message.ts';

/** What can be parsed: the content of a message, or what is known of a listed one. */
export type ParsableContent = MessageContent | ListedContent;
type Readable = Exclude<ParsableContent, { kind: 'unreadable' }>;

const MB = 2 ** 20;
const define = task<typeof import('./read-message.ts')>();
/** An ordinary message takes 1 or 2 ms, and a large one 20 ms per megabyte. */
const READ = define(import.meta.url, './read-message', 'readMessage', {
  lane: 'short',
  timeMs: 4_000,
  timeMsPerMb: 250,
  inputBytes: 64 * MB,
  outputBytes: 64 * MB,
});
const READ_HEADERS = define(import.meta.url, './read-message', 'readHeaders', {
  lane: 'short',
  timeMs: 2_000,
  inputBytes: MB,
  outputBytes: 8 * MB,
});

/**
 * Parses messages in worker threads (`WorkThreads`), even small ones: a message of a few kilobytes
 * can be written to take minutes. A message that exceeds a limit is not parsed again; only its
 * headers are.
 */
@Injectable()
export class MessageParser {
  readonly #ahead = new WeakMap<ParsableContent, Promise<WorkResult<ReadMessage> | undefined>>();

  constructor(private readonly threads: WorkThreads) {}

  /**
   * Parses messages, in order. Never throws because of a message's content.
   * @param accountId account of the messages; accounts share the threads fairly
   * @param patient false to fail if too much other work is waiting; default: true
   * @throws {WorkLimitError} `busy` or `closed`
   */
  async read(
    contents: readonly ParsableContent[],
    accountId: string,
    patient = true,
  ): Promise<ReadMessage[]> {
    const left = contents.filter(isReadable).filter((content) => !this.#ahead.has(content));
    const results = await this.threads.runAll(READ, accountId, left.map(inputOf), { patient });
    const read: ReadMessage[] = [];
    for (const content of contents) {
      if (isReadable(content)) {
        const known = this.#ahead.has(content)
          ? await this.#ahead.get(content)
          : results[left.indexOf(content)];
        read.push(await this.#settle(content, accountId, known, patient));
      } else read.push({ parsed: UNREADABLE, failure: content.reason });
    }
    return read;
  }

  /**
   * Starts parsing messages that `read` will request later, while earlier messages are still being
   * stored.
   */
  readAhead(contents: readonly ParsableContent[], accountId: string): void {
    const readable = contents.filter(isReadable);
    const all = this.threads.runAll(READ, accountId, readable.map(inputOf), { patient: true });
    for (const [index, content] of readable.entries()) {
      const result = all.then((results) => results[index]);
      // `read` reports the error.
      result.catch(() => undefined);
      this.#ahead.set(content, result);
    }
  }

  async #settle(
    content: Readable,
    accountId: string,
    result: WorkResult<ReadMessage> | undefined,
    patient: boolean,
  ): Promise<ReadMessage> {
    if (result && 'output' in result) return result.output;
    const error = result?.error ?? new WorkLimitError('closed');
    // The message is not at fault, so the next sync pass parses it again.
    if (error instanceof WorkLimitError && error.limit === 'closed') throw error;
    return { parsed: await this.#headers(content, accountId, patient), failure: reasonOf(error) };
  }

  /** The headers of a message whose content exceeded a limit. */
  async #headers(
    content: Readable,
    accountId: string,
    patient: boolean,
  ): Promise<ReadMessage['parsed']> {
    const bytes = headerBytes(content);
    try {
      const block = bytes.subarray(0, MAX_HEADER_BYTES);
      return await this.threads.run(READ_HEADERS, accountId, block, { patient });
    } catch (error) {
      if (error instanceof TaskFailedError) return UNREADABLE;
      if (!(error instanceof WorkLimitError)) throw error;
      // The message is not at fault.
      if (error.limit === 'closed' || error.limit === 'busy') throw error;
      return UNREADABLE;
    }
  }
}

function isReadable(content: ParsableContent): content is Readable {
  return content.kind !== 'unreadable';
}

function inputOf(content: Readable): MessageInput {
  return content.kind === 'parts' ? { kind: 'parts', ...content.parts } : content;
}

function headerBytes(content: Readable): Uint8Array {
  if (content.kind === 'mime') return content.mime;
  return (content.kind === 'parts' ? content.parts.headers : content.headers) ?? new Uint8Array();
}

function reasonOf(error: WorkLimitError | TaskFailedError): string {
  if (error instanceof TaskFailedError || error.details.cause === undefined) return error.message;
  const { cause } = error.details;
  return `${error.message} (${cause instanceof Error ? cause.message : String(cause)})`;
}
