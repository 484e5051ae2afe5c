import type { Response } from 'express';
import { databaseTrouble, describeDatabaseTrouble } from '../database/health/database-trouble.ts';
import { DomainError } from '../base/errors/domain-error.ts';

/** How a request failed, without anything that its client sent. */
export interface Failure {
  method: string;
  /** Template of the route, such as `/outbox/:id`. */
  route: string;
  /** 500 to 599. */
  status: number;
  /** In a few words. */
  error: string;
}

/** Requests that ended alike. */
export interface CountedRequests {
  /** `null` for all requests that did not fail. */
  failure: Failure | null;
  requests: number;
  /** Id of the last of them, for the log; `null` unless they failed. */
  requestId: string | null;
}

/** Failures that a process counts apart between two stores; further ones are counted together. */
const MOST_KINDS = 100;
const SQLSTATE = /^[0-9A-Z]{5}$/;
const OTHERS: Failure = { method: 'any', route: 'any', status: 500, error: 'other errors' };

const errors = new WeakMap<Response, string>();

/** Remembers why the request of a response fails, for `failureText`. */
export function noteFailure(response: Response, error: unknown): void {
  errors.set(response, describeError(error));
}

/** Why the request of a response failed, in a few words. */
export function failureText(response: Response): string {
  return errors.get(response) ?? 'no error was recorded';
}

/**
 * Codes of our own errors: their texts may repeat what a mail server said about a recipient. Other
 * errors may contain statements with their values, so their class stands for them.
 */
function describeError(error: unknown): string {
  if (error instanceof DomainError) return error.code;
  if (databaseTrouble(error)) return `the database ${describeDatabaseTrouble(error)}`;
  const { code } = (error ?? {}) as { code?: unknown };
  if (typeof code === 'string' && SQLSTATE.test(code)) return `error ${code} of the database`;
  return error instanceof Error ? error.name : 'unknown error';
}

/** How the requests of applications to this process ended lately. */
export class RequestCounts {
  #succeeded = 0;
  #failures = new Map<string, CountedRequests & { failure: Failure }>();

  /** Counts a request that did not fail because of the server. */
  succeeded(): void {
    this.#succeeded += 1;
  }

  /** Counts a request that was answered with 5xx. */
  failed(failure: Failure, requestId: string): void {
    this.#add({ failure, requests: 1, requestId });
  }

  /** What is counted and not yet taken. */
  peek(): CountedRequests[] {
    const succeeded = { failure: null, requests: this.#succeeded, requestId: null };
    return [...(this.#succeeded > 0 ? [succeeded] : []), ...this.#failures.values()];
  }

  /** Takes what was counted since the last call. */
  take(): CountedRequests[] {
    const counted = this.peek();
    this.#succeeded = 0;
    this.#failures = new Map();
    return counted;
  }

  /** Counts again what could not be stored. */
  putBack(counted: readonly CountedRequests[]): void {
    for (const { failure, requests, requestId } of counted) {
      if (failure === null) this.#succeeded += requests;
      else this.#add({ failure, requests, requestId });
    }
  }

  #add({ failure, requests, requestId }: CountedRequests & { failure: Failure }): void {
    const known = this.#failures.has(keyOf(failure)) || this.#failures.size < MOST_KINDS;
    const counted = known ? failure : OTHERS;
    const before = this.#failures.get(keyOf(counted))?.requests ?? 0;
    const sum = { failure: counted, requests: before + requests, requestId };
    this.#failures.set(keyOf(counted), sum);
  }
}

/** Text that is the same for failures that are counted together. */
export const keyOf = ({ method, route, status, error }: Failure): string =>
  `${method} ${route} ${status} ${error}`;

/** The counts of this process. */
export const requestCounts = new RequestCounts();
