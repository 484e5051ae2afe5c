import type { IncomingHttpHeaders } from 'node:http';

/** A request that a stub received, or one part of a batch. */
export interface StubRequest {
  method: string;
  /** Without the query, as it was sent: not decoded. */
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** The parsed body if its type is JSON; undefined otherwise, and for JSON that is malformed. */
  json: unknown;
}

/** What a stub answers. */
export interface StubAnswer {
  status: number;
  headers?: Record<string, string>;
  /** Sent as JSON. Absent for an empty body. */
  body?: unknown;
  /** Sent as it is, in place of `body`, and not checked. */
  raw?: Buffer | string;
}

/** A request with the status of its answer. */
export interface RecordedRequest extends StubRequest {
  /** Milliseconds of the stub's clock. */
  at: number;
  /** Null while there is no answer, and for a connection that a fault cut. */
  status: number | null;
  /** True if a fault answered. */
  isFault: boolean;
}

/** Makes a request from its parts. */
export function stubRequest(
  method: string,
  url: string,
  headers: IncomingHttpHeaders,
  body: Buffer,
): StubRequest {
  const { pathname, searchParams } = new URL(url, 'http://stub.invalid');
  const isJson = /\bjson\b/.test(headers['content-type'] ?? '');
  const json = isJson && body.length > 0 ? parsed(body) : undefined;
  return { method, path: pathname, query: searchParams, headers, body, json };
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
