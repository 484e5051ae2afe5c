import { availableParallelism } from 'node:os';
import { Inject, Injectable, Logger, type OnModuleDestroy, Optional } from '@nestjs/common';
import { DomainError, InvalidInputError, NotImplementedError } from '../../common/errors/domain-error.ts';
import type { TaskName, TaskReply, TaskRequest, Tasks } from './tasks.ts';
import { ThreadPool, WorkFailedError } from './thread-pool.ts';

/** As the compiled program has it, or as the sources do. */
const THREAD = new URL(
  import.meta.url.endsWith('.ts') ? './neural-thread.ts' : './neural-thread.js',
  import.meta.url,
);
const TEXT_THREADS = Math.min(2, Math.max(1, availableParallelism() - 1));
/** Limits of work on texts: it takes milliseconds unless somebody has made it not to. */
const TEXT = { threads: TEXT_THREADS, waiting: 64, perKey: 16, limitMs: 10_000, heapMb: 512 };
/** A page takes a second or a few, and each waiting file is up to 25 MB. */
const OCR = { threads: 1, waiting: 7, perKey: 3, limitMs: 90_000, heapMb: 1024 };

/** What the threads run, when it is not what comes with this file. */
export const NEURAL_THREAD = Symbol('neural thread');

/** Where texts and images are looked at: threads of their own, so that no request waits for those of others. */
@Injectable()
export class NeuralThreads implements OnModuleDestroy {
  readonly #log = new Logger(NeuralThreads.name);
  readonly #text: ThreadPool<TaskRequest, TaskReply>;
  readonly #ocr: ThreadPool<TaskRequest, TaskReply>;

  constructor(@Optional() @Inject(NEURAL_THREAD) script: URL = THREAD) {
    this.#text = new ThreadPool({ ...TEXT, script });
    this.#ocr = new ThreadPool({ ...OCR, script });
  }

  /**
   * Work on texts. What takes too long is done once more in a way that cannot.
   * @throws {DomainError} when too much of it waits, or it fails
   */
  async text<Name extends Exclude<TaskName, 'ocr'>>(
    accountId: string,
    name: Name,
    input: Omit<Tasks[Name]['input'], 'careful'>,
  ): Promise<Tasks[Name]['output']> {
    const ask = async (careful: boolean) =>
      this.#outputOf(
        await this.#text.run(accountId, () => ({ name, input: { ...input, careful } }) as TaskRequest),
      );
    try {
      return await ask(false);
    } catch (error) {
      if (!(error instanceof WorkFailedError)) throw error;
      this.#log.warn(`${name} is done the plain way: ${String(error.cause)}`);
      return ask(true);
    }
  }

  /**
   * Reads the text of a file.
   * @param load gets its bytes, once it is its turn
   * @throws {InvalidInputError} when it cannot be read
   * @throws {NotImplementedError} when a package is not installed
   * @throws {DomainError} when too much of it waits, or it fails
   */
  async ocr(
    accountId: string,
    load: () => Promise<Uint8Array>,
    pages: readonly number[] | null,
  ): Promise<string[]> {
    const reply = await this.#ocr.run(accountId, async () => ({
      name: 'ocr',
      input: { bytes: await load(), pages },
    }));
    return this.#outputOf(reply) as Tasks['ocr']['output'];
  }

  async onModuleDestroy(): Promise<void> {
    await Promise.all([this.#text.close(), this.#ocr.close()]);
  }

  #outputOf(reply: TaskReply): Tasks[TaskName]['output'] {
    if ('output' in reply) return reply.output;
    if ('refused' in reply) throw new InvalidInputError(reply.refused);
    if ('missing' in reply)
      throw new NotImplementedError(
        `This server cannot do this: the package ${reply.missing} is not installed (npm install ${reply.missing}).`,
      );
    this.#log.error(reply.failed);
    throw new DomainError('neural.failed', 'unavailable', 'This could not be worked out');
  }
}
