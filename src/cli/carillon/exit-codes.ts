import { DomainError, type ErrorKind } from '../../platform/base/errors/domain-error.ts';
import { OperatorError } from '../../platform/base/errors/operator-error.ts';
import {
  ProviderError,
  type ProviderErrorCode,
} from '../../platform/base/errors/provider-error.ts';
import type { Failure, FailureKind } from '../terminal/exit-codes.ts';

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

/** Classifies an error that a command threw. */
export function failureOf(error: unknown): Failure {
  if (!(error instanceof Error)) return { kind: 'unexpected', message: String(error) };
  const { message } = error;
  if (error instanceof OperatorError) return { kind: error.kind, message };
  if (error instanceof DomainError) return { kind: OF_DOMAIN[error.kind], message };
  if (error instanceof ProviderError) return { kind: OF_PROVIDER[error.code], message };
  return { kind: 'unexpected', message: error.stack ?? message };
}
