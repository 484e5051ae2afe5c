import { randomUUID } from 'node:crypto';
import type { StubAnswer } from '../../remote-stub/messages.ts';

export type { StubAnswer, StubRequest } from '../../remote-stub/messages.ts';

/** A JSON object as it is sent or received. */
export type Json = Record<string, unknown>;

/** An error that Microsoft Graph answers with: `{ error: { code, message, innererror } }`. */
export class GraphError extends Error {
  readonly status: number;
  readonly code: string;
  readonly headers: Record<string, string>;

  constructor(status: number, code: string, message: string, headers: Record<string, string> = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }

  /** The error as an answer. */
  answer(): StubAnswer {
    return {
      status: this.status,
      headers: { ...this.headers },
      body: errorBody(this.code, this.message),
    };
  }
}

/** Body of an error answer of Graph. */
export function errorBody(code: string, message: string): Json {
  const id = randomUUID();
  const date = `${new Date().toISOString().slice(0, 19)}Z`;
  return {
    error: {
      code,
      message,
      innererror: { Date: date, 'request-id': id, 'client-request-id': id },
    },
  };
}

/** Graph's errors that several handlers answer with. */
export const graphErrors = {
  itemNotFound: () =>
    new GraphError(404, 'ErrorItemNotFound', 'The specified object was not found in the store.'),
  malformedId: () => new GraphError(400, 'ErrorInvalidIdMalformed', 'Id is malformed.'),
  accessDenied: () =>
    new GraphError(403, 'ErrorAccessDenied', 'Access is denied. Check credentials and try again.'),
  badRequest: (message: string) => new GraphError(400, 'BadRequest', message),
  invalidRequest: (message: string) => new GraphError(400, 'ErrorInvalidRequest', message),
  syncStateNotFound: () =>
    new GraphError(
      410,
      'SyncStateNotFound',
      "The sync state generation is not found; continuationToken is '';",
    ),
  resyncRequired: () =>
    new GraphError(410, 'resyncRequired', 'Resync required. Replace any local items.'),
};

/**
 * The body of a request as a JSON object.
 * @throws {GraphError} 400 if it is no JSON object
 */
export function jsonBody(body: Buffer): Json {
  if (body.length === 0) return {};
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw graphErrors.badRequest('Unable to read JSON request payload.');
}
