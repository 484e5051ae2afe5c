/** Exit codes of both commands, by kind of error (docs/commands.md). */
export const EXIT_CODES = {
  /** A bug, or an error that no other kind describes. */
  unexpected: 1,
  /** The command line, a value or the configuration is wrong. */
  usage: 2,
  /** Nothing has the given id or name. */
  'not-found': 3,
  /** The state of the installation or a permission forbids it. Nothing was changed. */
  refused: 4,
  /** The database, the server or a provider did not answer: try again. */
  unavailable: 5,
} as const;

export type FailureKind = keyof typeof EXIT_CODES;

/** What a failed command reports. */
export interface Failure {
  kind: FailureKind;
  /** For the user. The stack, if the error is unexpected. */
  message: string;
}
