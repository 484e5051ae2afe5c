/** Receives the lines of the log, each with its line break. */
export interface LogDestination {
  write(line: string): void;
}

/** Nest token of the `LogDestination`; its value is `null` for standard output. */
export const LOG_DESTINATION = Symbol('LogDestination');
