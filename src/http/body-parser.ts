import express, { type Request, type RequestHandler } from 'express';

/** Bodies that are not JSON and are read by their own handlers. */
const NOT_JSON = /^(multipart\/form-data|message\/rfc822)\b/i;

/**
 * Parses bodies as JSON whatever the Content-Type says (api facts 1.3: the official client sends JSON as
 * `text/plain`, curl as a form), also on DELETE. An absent or empty body is `{}`.
 * @param limitBytes larger bodies are refused with 413 before they are read whole
 */
export function jsonBodyParser(limitBytes: number): RequestHandler {
  return express.json({
    limit: limitBytes,
    strict: false,
    type: (request) => !NOT_JSON.test((request as Request).headers['content-type'] ?? ''),
  });
}
