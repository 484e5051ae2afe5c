import type { Failure, FailureKind } from '../terminal/exit-codes.ts';

/** An error that the user of `carillon-api` can solve. It is shown without a stack. */
export class ApiCommandError extends Error {
  override name = 'ApiCommandError';
  /** Decides the exit code. */
  readonly kind: FailureKind;

  constructor(message: string, kind: FailureKind = 'usage') {
    super(message);
    this.kind = kind;
  }
}

/** The kind of error that a status of HTTP reports. */
export function kindOfStatus(status: number): FailureKind {
  if (status === 400 || status === 413 || status === 422) return 'usage';
  if (status === 404 || status === 410) return 'not-found';
  return status === 429 || status >= 500 ? 'unavailable' : 'refused';
}

/** Classifies an error that a command of the client threw. */
export function failureOf(error: unknown): Failure {
  if (error instanceof ApiCommandError) return { kind: error.kind, message: error.message };
  const stack = error instanceof Error ? error.stack : undefined;
  return { kind: 'unexpected', message: stack ?? String(error) };
}
