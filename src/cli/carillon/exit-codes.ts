import { CommanderError } from 'commander';
import { DomainError, type ErrorKind } from '../../platform/base/errors/domain-error.ts';
import { OperatorError } from '../../platform/base/errors/operator-error.ts';
import {
  ProviderError,
  type ProviderErrorCode,
} from '../../platform/base/errors/provider-error.ts';

/** Exit codes of the commands, by kind of error (docs/commands.md). */
export const EXIT_CODES = {
  /** A bug, or an error that no other kind describes. */
  unexpected: 1,
  /** The command line, a value or the configuration is wrong. */
  usage: 2,
  /** Nothing has the given id or name. */
  'not-found': 3,
  /** The state of the installation or a permission forbids it. Nothing was changed. */
  refused: 4,
  /** The database or a provider did not answer, or the schema is behind: try again. */
  unavailable: 5,
} as const;

export type FailureKind = keyof typeof EXIT_CODES;

const OF_DOMAIN: Readonly<Record<ErrorKind, FailureKind>> = {
  invalid: 'usage',
  unauthorized: 'refused',
  payment: 'refused',
  forbidden: 'refused',
  'not-found': 'not-found',
  conflict: 'refused',
  gone: 'not-found',
  precondition: 'refused',
  'too-large': 'usage',
  'rate-limited': 'unavailable',
  'not-implemented': 'refused',
  unavailable: 'unavailable',
};

const OF_PROVIDER: Readonly<Record<ProviderErrorCode, FailureKind>> = {
  'auth-invalid': 'refused',
  'quota-exhausted': 'unavailable',
  'rate-limited': 'unavailable',
  temporary: 'unavailable',
  rejected: 'refused',
  'not-found': 'not-found',
  conflict: 'refused',
  'outcome-unknown': 'unavailable',
  unsupported: 'refused',
};

/** What a failed command reports. */
export interface Failure {
  kind: FailureKind;
  /** For the operator. The stack, if the error is unexpected. */
  message: string;
}

/** Classifies an error that a command threw. */
export function failureOf(error: unknown): Failure {
  if (!(error instanceof Error)) return { kind: 'unexpected', message: String(error) };
  const { message } = error;
  if (error instanceof CommanderError)
    return { kind: 'usage', message: message.replace(/^error: /, '') };
  if (error instanceof OperatorError) return { kind: error.kind, message };
  if (error instanceof DomainError) return { kind: OF_DOMAIN[error.kind], message };
  if (error instanceof ProviderError) return { kind: OF_PROVIDER[error.code], message };
  return { kind: 'unexpected', message: error.stack ?? message };
}
