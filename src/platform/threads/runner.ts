import type { Task, WorkReply } from './task.ts';
import { TaskFailedError, type WorkLimit, WorkLimitError } from './work-errors.ts';

const MB = 2 ** 20;
/** Time to start a runner and to load the module of a task, in milliseconds. */
export const LOAD_MS = 30_000;
/**
 * An input that has used less processor time than its limit ends after this many times the limit.
 */
export const MOST_TIMES = 5;

export type WorkResult<Output> = { output: Output } | { error: WorkLimitError | TaskFailedError };

/** One input, its size, and the function that receives its result. */
export interface WorkItem {
  task: Task<unknown, unknown>;
  input: unknown;
  bytes: number;
  settle(result: WorkResult<unknown>): void;
}

/** How a runner reports what happens in it. */
export interface RunnerEvents {
  /** An item has its result, after this many milliseconds. */
  settled(ms: number): void;
  /**
   * The runner has ended and its memory is free. The first item without a result is the one that
   * hit the limit.
   */
  ended(unsettled: WorkItem[], limit: WorkLimit, cause: unknown): void;
  /** `usedMb` has changed. */
  measured(): void;
}

/** A thread or a process that works on its items in the order in which they were posted. */
export interface Runner {
  /** Whether it takes items, now or once it has finished others. */
  readonly alive: boolean;
  /** Whether it takes another item now. */
  readonly hasCapacity: boolean;
  /** Number of items without a result. */
  readonly pending: number;
  /** Memory in megabytes, when it was last measured. It is measured while there is work. */
  readonly usedMb: number;
  /**
   * Gives it another item.
   * @throws {Error} if the input cannot be copied
   */
  post(item: WorkItem): void;
  /** Ends it, even while it works. Items without a result fail with this limit. */
  end(limit: WorkLimit, cause?: unknown): Promise<void>;
}

/** Processor time that an item may use, in milliseconds. */
export function timeLimitOf({ task: { limits }, bytes }: WorkItem): number {
  return limits.timeMs + ((limits.timeMsPerMb ?? 0) * bytes) / MB;
}

/** The cause of the limit `time`, for the log. */
export const moreThan = (limitMs: number): string => `more than ${Math.round(limitMs)} ms`;

/** The result that the last reply to a request stands for. */
export function resultOf(reply: Exclude<WorkReply, { kind: 'started' }>): WorkResult<unknown> {
  if (reply.kind === 'done') return { output: reply.output };
  if (reply.kind === 'tooLarge') return { error: new WorkLimitError('size') };
  return { error: new TaskFailedError(reply.errorName, reply.message) };
}
