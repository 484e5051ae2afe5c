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
/** Analysing text takes milliseconds, except for text that was written to be slow. */
const TEXT = { lane: 'short', timeMs: 10_000, inputBytes: 64 * MB, outputBytes: 64 * MB } as const;
/** A page takes one to a few seconds, and a file has up to 25 MB. */
const OCR = { lane: 'long', timeMs: 90_000, inputBytes: 32 * MB, outputBytes: 16 * MB } as const;

function neuralTask(base: string, limits: TaskLimits): Task<TaskRequest, TaskReply> {
  return task<typeof import('./neural-work.ts')>()(base, './neural-work', 'answerNeural', limits);
}

/** Injection token for the location of the thread code, for tests without the optional packages. */
export const NEURAL_CODE = Symbol('code of neural threads');

/**
 * Analyses texts and images in worker threads, so that requests do not wait for each other's
 * analysis.
 */
@Injectable()
export class NeuralThreads {
  readonly #log = new Logger(NeuralThreads.name);
  readonly #text: Task<TaskRequest, TaskReply>;
  readonly #ocr: Task<TaskRequest, TaskReply>;

  /** @param code URL of a file in the folder that contains `neural-work`; default: this file */
  constructor(
    private readonly threads: WorkThreads,
    @Optional() @Inject(NEURAL_CODE) code: string = import.meta.url,
  ) {
    this.#text = neuralTask(code, TEXT);
    this.#ocr = neuralTask(code, OCR);
  }

  /**
   * Analyses texts. If that takes too long, the work is repeated with a method of bounded time.
   * @throws {DomainError} if too many requests are waiting, or the work fails
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
      this.#log.warn(
        `${name} exceeded its limits and is repeated with the simpler method: ${String(error.cause)}`,
      );
      return ask(true);
    }
  }

  /**
   * Recognises the text of a file.
   * @param load loads the bytes; called once there is capacity for them
   * @throws {InvalidInputError} if the file cannot be read
   * @throws {NotImplementedError} if a required package is not installed
   * @throws {DomainError} if too many requests are waiting, or the work fails
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
    return new DomainError(
      'neural.failed',
      'unavailable',
      'The request could not be processed; try again later',
    );
  }
}

/** The work exceeded its limit of time or memory. */
class NeuralLimitError extends DomainError {
  constructor(cause: WorkLimitError) {
    super(
      'neural.failed',
      'unavailable',
      'The request could not be processed: it needs more time or memory than one request may use',
      { cause: cause.details.cause ?? cause },
    );
  }
}
