/**
 * How the operator can solve an error.
 *
 * - `usage`: correct the command line or the configuration
 * - `not-found`: name something that exists
 * - `refused`: the state of the installation forbids it
 * - `unavailable`: try again when the database (or what the message names) is available
 */
export type OperatorErrorKind = 'usage' | 'not-found' | 'refused' | 'unavailable';

/**
 * An error that the operator can solve. Its message says how. Commands and servers print the
 * message without a stack; the kind decides the exit code of a command.
 */
export abstract class OperatorError extends Error {
  readonly kind: OperatorErrorKind;

  constructor(kind: OperatorErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.kind = kind;
  }
}
