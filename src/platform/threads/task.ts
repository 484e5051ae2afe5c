/** Limits of a piece of work. Work that exceeds a limit fails with a `WorkLimitError`. */
export interface TaskLimits {
  /**
   * Processor time for one input, in milliseconds. A thread or process that waits for a processor
   * or for memory gets at most five times as much time.
   */
  timeMs: number;
  /** Further time for each megabyte of the input, in milliseconds. Default 0. */
  timeMsPerMb?: number;
  /** Size of one input, as `sizeOf` counts it. */
  inputBytes: number;
  /** Size of the result for one input, as `sizeOf` counts it. */
  outputBytes: number;
  /**
   * `short`: usually takes milliseconds, and runs in a thread. `long`: takes seconds, and runs in a
   * process that ends with its input, so that short work never waits for it and all its memory
   * counts, also that of WebAssembly.
   */
  lane: 'short' | 'long';
}

/** A kind of work that threads can be asked to do (`WorkThreads`). */
export interface Task<Input, Output> {
  readonly module: string;
  /** Name of the exported function. */
  readonly name: string;
  readonly limits: TaskLimits;
  /** Types of the input and the output, only for the compiler. */
  readonly types?: (input: Input) => Output;
}

type Work = (input: never) => unknown;

/**
 * Names a function of a module as a kind of work: `task<typeof
 * import('./read.ts')>()(import.meta.url, './read', 'readAll', …)`.
 * @returns a function, because TypeScript infers either all type arguments or none
 */
export function task<Module extends object>() {
  return <Name extends keyof Module & string>(
    base: string,
    file: string,
    name: Name,
    limits: TaskLimits,
  ): Module[Name] extends Work
    ? Task<Parameters<Module[Name]>[0], Awaited<ReturnType<Module[Name]>>>
    : never => {
    // The compiled program has `.js` files, and tests run the sources.
    const module = new URL(`${file}${base.endsWith('.ts') ? '.ts' : '.js'}`, base).href;
    return { module, name, limits } as never;
  };
}

/** The message that a thread gets, for one input. */
export interface WorkRequest {
  id: number;
  module: string;
  name: string;
  input: unknown;
  outputBytes: number;
}

/**
 * The message that a thread sends back. `started`: the module is loaded and the work begins;
 * `usedMs` is the processor time that the thread has used before.
 * `failed`: the function threw. `tooLarge`: the result exceeds the limit.
 */
export type WorkReply =
  | { id: number; kind: 'started'; usedMs: number }
  | { id: number; kind: 'done'; output: unknown }
  | { id: number; kind: 'failed'; errorName: string; message: string }
  | { id: number; kind: 'tooLarge' };

/** The message that a process gets, with its limits. */
export interface ProcessRequest {
  work: WorkRequest;
  /** JavaScript heap of its thread. */
  heapMb: number;
  /** Resident memory of the whole process. */
  residentMb: number;
  /** Processor time after `started`, of all threads of the process. */
  timeMs: number;
}

/**
 * The messages that a process sends back. `measured`: its resident memory, every few milliseconds.
 * `limit`: the input hit a limit, and the process ends.
 */
export type ProcessReply =
  | WorkReply
  | { kind: 'measured'; usedMb: number }
  | { kind: 'limit'; limit: 'time' | 'memory' | 'crash'; cause: string };
