import express, { type Request, type RequestHandler } from 'express';
import { DomainError } from '../common/errors/domain-error.ts';

/** Bodies that are not JSON and are read by their own handlers. */
const NOT_JSON = /^(multipart\/form-data|message\/rfc822)\b/i;

/**
 * Parses bodies as JSON whatever the Content-Type says (api facts 1.3: the official client sends JSON as
 * `text/plain`, curl as a form), also on DELETE. An absent or empty body is `{}`.
 * @param limitBytes larger bodies are refused with 413 before they are read whole
 */
export function jsonBodyParser(limitBytes: number): RequestHandler {
  const parse = express.json({
    limit: limitBytes,
    strict: false,
    type: (request) => !NOT_JSON.test((request as Request).headers['content-type'] ?? ''),
  });
  return (request, response, next) => {
    parse(request, response, (error?: unknown) =>
      next(error === undefined ? undefined : toDomainError(error)),
    );
  };
}

/** Errors of the parser carry a `type`; what they say may quote the body, so it is not repeated. */
function toDomainError(error: unknown): unknown {
  switch ((error as { type?: unknown }).type) {
    case 'entity.parse.failed':
      return new DomainError('request.malformed', 'invalid', 'The request body is not valid JSON', {
        type: 'api_error',
      });
    case 'entity.too.large':
      return new DomainError('request.too-large', 'too-large', 'The request body is too large');
    case 'request.aborted':
    case 'request.size.invalid':
      return new DomainError('request.incomplete', 'invalid', 'The request body did not arrive whole');
    case 'encoding.unsupported':
    case 'charset.unsupported':
      return new DomainError(
        'request.encoding',
        'invalid',
        'The encoding of the request body is not supported',
      );
    default:
      return error;
  }
}
