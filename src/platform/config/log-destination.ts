/** Takes the lines of the log, each with its line break. */
export interface LogDestination {
  write(line: string): void;
}

/** Nest token of where the log goes; null: standard output. */
export const LOG_DESTINATION = Symbol('LogDestination');
