import { Inject, Injectable, Logger, Optional } from '@nestjs/common';
import {
  DomainError,
  InvalidInputError,
  NotImplementedError,
} from '../../../platform/base/errors/domain-error.ts';
import { type Task, task, type TaskLimits } from '../../../platform/threads/task.ts';
import { TaskFailedError, WorkLimitError } from '../../../platform/threads/work-errors.ts';
import { WorkThreads } from '../../../platform/threads/work-threads.ts';
import type { TaskName, TaskReply, TaskRequest, Tasks } from './tasks.ts';

const MB = 2 ** 20;
/** Work on texts takes milliseconds unless somebody has made it not to. */
const TEXT = { lane: 'short', timeMs: 10_000, inputBytes: 64 * MB, outputBytes: 64 * MB } as const;
/** A page takes a second or a few, and a file is up to 25 MB. */
const OCR = { lane: 'long', timeMs: 90_000, inputBytes: 32 * MB, outputBytes: 16 * MB } as const;

function neuralTask(base: string, limits: TaskLimits): Task<TaskRequest, TaskReply> {
  return task<typeof import('./neural-work.ts')>()(base, './neural-work', 'answerNeural', limits);
}

/** Where the code of the threads is, in tests without the optional packages. */
export const NEURAL_CODE = Symbol('code of neural threads');

/** Looks at texts and images in threads, so that no request waits for those of others. */
@Injectable()
export class NeuralThreads {
  readonly #log = new Logger(NeuralThreads.name);
  readonly #text: Task<TaskRequest, TaskReply>;
  readonly #ocr: Task<TaskRequest, TaskReply>;

  /** @param code URL of a file in the folder of `neural-work`, where that is not this one */
  constructor(
    private readonly threads: WorkThreads,
    @Optional() @Inject(NEURAL_CODE) code: string = import.meta.url,
  ) {
    this.#text = neuralTask(code, TEXT);
    this.#ocr = neuralTask(code, OCR);
  }

  /**
   * Works on texts. What takes too long is done once more in a way that cannot.
   * @throws {DomainError} when too much of it waits, or it fails
   */
  async text<Name extends Exclude<TaskName, 'ocr'>>(
    accountId: string,
    name: Name,
    input: Omit<Tasks[Name]['input'], 'careful'>,
  ): Promise<Tasks[Name]['output']> {
    const ask = (careful: boolean) =>
      this.#threads(this.#text, accountId, { name, input: { ...input, careful } } as TaskRequest);
    try {
      return await ask(false);
    } catch (error) {
      if (!(error instanceof NeuralLimitError)) throw error;
      this.#log.warn(`${name} is done the plain way: ${String(error.cause)}`);
      return ask(true);
    }
  }

  /**
   * Reads the text of a file.
   * @param load gets its bytes; called when there is room for them
   * @throws {InvalidInputError} when it cannot be read
   * @throws {NotImplementedError} when a package is not installed
   * @throws {DomainError} when too much of it waits, or it fails
   */
  async ocr(
    accountId: string,
    load: () => Promise<Uint8Array>,
    pages: readonly number[] | null,
  ): Promise<string[]> {
    const request = async (): Promise<TaskRequest> => ({
      name: 'ocr',
      input: { bytes: await load(), pages },
    });
    return (await this.#threads(this.#ocr, accountId, request)) as Tasks['ocr']['output'];
  }

  async #threads(
    work: Task<TaskRequest, TaskReply>,
    accountId: string,
    request: TaskRequest | (() => Promise<TaskRequest>),
  ): Promise<Tasks[TaskName]['output']> {
    let reply: TaskReply;
    try {
      reply = await this.threads.run(work, accountId, request);
    } catch (error) {
      throw this.#refusal(error);
    }
    if ('output' in reply) return reply.output;
    if ('refused' in reply) throw new InvalidInputError(reply.refused);
    throw new NotImplementedError(
      `This server cannot do this: the package ${reply.missing} is not installed (npm install ${reply.missing}).`,
    );
  }

  #refusal(error: unknown): unknown {
    if (error instanceof WorkLimitError) {
      if (error.kind !== 'unavailable') return new NeuralLimitError(error);
      return new DomainError('neural.busy', 'unavailable', error.message, error.details);
    }
    if (!(error instanceof TaskFailedError)) return error;
    this.#log.error(`${error.errorName}: ${error.message}`);
    return new DomainError('neural.failed', 'unavailable', 'This could not be worked out');
  }
}

/** The work took more time or memory than it may. */
class NeuralLimitError extends DomainError {
  constructor(cause: WorkLimitError) {
    super(
      'neural.failed',
      'unavailable',
      'This could not be worked out: it takes more time or memory than there is for one request',
      { cause: cause.details.cause ?? cause },
    );
  }
}
