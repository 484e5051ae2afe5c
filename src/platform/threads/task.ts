/** What a piece of work may use. What exceeds a limit fails with a `WorkLimitError`. */
export interface TaskLimits {
  /** Time for one input, in milliseconds. */
  timeMs: number;
  /** Further time for each megabyte of the input, in milliseconds. Default 0. */
  timeMsPerMb?: number;
  /** Size of one input, as `sizeOf` counts it. */
  inputBytes: number;
  /** Size of the result for one input, as `sizeOf` counts it. */
  outputBytes: number;
  /** `short`: milliseconds as a rule. `long`: seconds; runs in a thread of its own, so that short work never waits for it. */
  lane: 'short' | 'long';
}

/** A kind of work that threads can be asked to do (`WorkThreads`). */
export interface Task<Input, Output> {
  readonly module: string;
  /** Name of the exported function. */
  readonly name: string;
  readonly limits: TaskLimits;
  /** Only for the compiler: what goes in and comes out. */
  readonly types?: (input: Input) => Output;
}

type Work = (input: never) => unknown;

/**
 * Names a function of a module as a kind of work: `task<typeof import('./read.ts')>()(import.meta.url, './read', 'readAll', …)`.
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

/** What a thread is sent. */
export interface WorkRequest {
  id: number;
  module: string;
  name: string;
  input: unknown;
  outputBytes: number;
}

/**
 * What a thread answers. `started`: the module has been loaded and the work begins; `failed`: the function threw;
 * `tooLarge`: the result exceeds the limit.
 */
export type WorkReply =
  | { id: number; kind: 'started' }
  | { id: number; kind: 'done'; output: unknown }
  | { id: number; kind: 'failed'; errorName: string; message: string }
  | { id: number; kind: 'tooLarge' };
