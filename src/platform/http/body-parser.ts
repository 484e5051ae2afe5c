import express, { type Request, type RequestHandler } from 'express';
import { DomainError } from '../base/errors/domain-error.ts';
import { assertModestJson } from './json-shape.ts';
import { BodyRoom } from './large-bodies.ts';

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

const isReadElsewhere = ({ headers }: Request): boolean =>
  NOT_JSON.test(headers['content-type'] ?? '');

/** What the parser is told to fail with. It adds a status of its own to errors, so a refusal travels inside of one. */
class RefusedBody extends Error {
  constructor(readonly refusal: unknown) {
    super('refused');
  }
}

/** @throws {RefusedBody} when the text is not UTF-8 (RFC 8259 8.1), or costs too much to parse */
function assertParsable(
  _request: unknown,
  _response: unknown,
  body: Buffer,
  encoding: string,
): void {
  try {
    if (encoding !== 'utf-8') throw unsupported();
    assertModestJson(body);
  } catch (refusal) {
    throw new RefusedBody(refusal);
  }
}

/**
 * Parses bodies as JSON whatever the Content-Type says (api facts 1.3: the official client sends JSON as
 * `text/plain`, curl as a form), also on DELETE. An absent or empty body is `{}`.
 * Forms are read where pages and clients of OAuth send them. Compressed bodies are refused: a few kilobytes could become
 * megabytes before anybody knows who sends them.
 * @param limitBytes larger bodies are refused with 413 before they are read whole
 */
export function jsonBodyParser(limitBytes: number): RequestHandler {
  const json = (limit: number): RequestHandler =>
    express.json({
      limit,
      strict: false,
      inflate: false,
      verify: assertParsable,
      type: (request) => !isReadElsewhere(request as Request),
    });
  const room = new BodyRoom();
  const skip = json(limitBytes);
  const parse = room.limit(json, limitBytes);
  const text = room.limit(
    (limit) => express.text({ limit, inflate: false, type: () => true }),
    Math.min(limitBytes, MOST_FORM_BYTES),
  );
  return (request, response, next) => {
    if (FORMS.test(request.originalUrl) && FORM.test(request.headers['content-type'] ?? '')) {
      text(request, response, (error?: unknown) => {
        next(error === undefined ? readForm(request) : toDomainError(error));
      });
      return;
    }
    const read = isReadElsewhere(request) ? skip : parse;
    read(request, response, (error?: unknown) =>
      next(error === undefined ? undefined : toDomainError(error)),
    );
  };
}

const malformed = (): DomainError =>
  new DomainError('request.malformed', 'invalid', 'The request body is not valid JSON', {
    type: 'api_error',
  });

const unsupported = (): DomainError =>
  new DomainError(
    'request.encoding',
    'invalid',
    'The encoding of the request body is not supported',
  );

/** Errors of the parser carry a `type`; what they say may quote the body, so it is not repeated. */
function toDomainError(error: unknown): unknown {
  if (error instanceof DomainError) return error;
  if (error instanceof RefusedBody) return error.refusal;
  switch ((error as { type?: unknown }).type) {
    case 'entity.parse.failed':
      return malformed();
    case 'entity.too.large':
      return new DomainError('request.too-large', 'too-large', 'The request body is too large');
    case 'request.aborted':
    case 'request.size.invalid':
      return new DomainError(
        'request.incomplete',
        'invalid',
        'The request body did not arrive whole',
      );
    case 'encoding.unsupported':
    case 'charset.unsupported':
      return unsupported();
    default:
      return error;
  }
}
