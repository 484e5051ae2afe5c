import express, { type Request, type RequestHandler } from 'express';
import { DomainError } from '../common/errors/domain-error.ts';

/** Bodies that are not JSON and are read by their own handlers. */
const NOT_JSON = /^(multipart\/form-data|message\/rfc822)\b/i;

/** Paths whose bodies may be forms: browsers send them, and clients of OAuth (RFC 6749 4.1.3). */
const FORMS = /^\/(connect\/login|oauth\/token)(\/|\?|$)/;
const FORM = /^application\/x-www-form-urlencoded\b/i;
/** Far more than a page's fields. */
const MOST_FORM_BYTES = 64 * 1024;

/**
 * Reads the text of a body as a form, or as JSON where it is: curl says "form" whatever it sends.
 * @returns what is wrong with it
 */
function readForm(request: Request): DomainError | undefined {
  const text = typeof request.body === 'string' ? request.body : '';
  if (text.trimStart().startsWith('{')) {
    try {
      request.body = JSON.parse(text) as unknown;
    } catch {
      return malformed();
    }
  } else {
    request.body = Object.fromEntries(new URLSearchParams(text));
  }
  return undefined;
}

/**
 * Parses bodies as JSON whatever the Content-Type says (api facts 1.3: the official client sends JSON as
 * `text/plain`, curl as a form), also on DELETE. An absent or empty body is `{}`.
 * Forms are read where pages and clients of OAuth send them.
 * @param limitBytes larger bodies are refused with 413 before they are read whole
 */
export function jsonBodyParser(limitBytes: number): RequestHandler {
  const parse = express.json({
    limit: limitBytes,
    strict: false,
    type: (request) => !NOT_JSON.test((request as Request).headers['content-type'] ?? ''),
  });
  const text = express.text({ limit: Math.min(limitBytes, MOST_FORM_BYTES), type: () => true });
  return (request, response, next) => {
    if (FORMS.test(request.originalUrl) && FORM.test(request.headers['content-type'] ?? '')) {
      text(request, response, (error?: unknown) => {
        next(error === undefined ? readForm(request) : toDomainError(error));
      });
      return;
    }
    parse(request, response, (error?: unknown) =>
      next(error === undefined ? undefined : toDomainError(error)),
    );
  };
}

const malformed = (): DomainError =>
  new DomainError('request.malformed', 'invalid', 'The request body is not valid JSON', {
    type: 'api_error',
  });

/** Errors of the parser carry a `type`; what they say may quote the body, so it is not repeated. */
function toDomainError(error: unknown): unknown {
  switch ((error as { type?: unknown }).type) {
    case 'entity.parse.failed':
      return malformed();
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
