import express, { type Request, type RequestHandler } from 'express';
import { DomainError } from '../base/errors/domain-error.ts';
import { assertModestJson } from './json-shape.ts';
import { BodyCapacity } from './large-bodies.ts';

/** Content types of bodies that are not JSON. Their handlers read them. */
const NOT_JSON = /^(multipart\/form-data|message\/rfc822)\b/i;

/** Paths that accept forms, from browsers and OAuth clients (RFC 6749 4.1.3). */
const FORMS = /^\/(connect\/login|oauth\/token)(\/|\?|$)/;
const FORM = /^application\/x-www-form-urlencoded\b/i;
/** Where some clients send a form and declare it as JSON, as Ruby's does with rest-client 2.0. */
const UNDECLARED_FORMS = /^\/oauth\/token(\/|\?|$)/;
/** Far more than the fields of a sign-in page need. */
const MOST_FORM_BYTES = 64 * 1024;

/**
 * Parses the body as a form, or as JSON if it starts with `{`: curl declares every body to be a
 * form.
 * @returns an error if the body is malformed
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

const mayBeForm = (request: Request): boolean =>
  (FORMS.test(request.originalUrl) && FORM.test(request.headers['content-type'] ?? '')) ||
  (UNDECLARED_FORMS.test(request.originalUrl) && !isReadElsewhere(request));

/** Carries a refusal through the parser, which would add a status of its own to the error. */
class RefusedBody extends Error {
  constructor(readonly refusal: unknown) {
    super('refused');
  }
}

/** @throws {RefusedBody} if the text is not UTF-8 (RFC 8259 8.1), or is too expensive to parse */
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
 * Parses request bodies as JSON, whatever their Content-Type, also for DELETE. The official client
 * sends JSON as `text/plain`, curl as a form. A missing or empty body becomes `{}`. Forms are
 * accepted only on the paths that need them. Compressed bodies are refused: a few kilobytes could
 * expand to megabytes before the sender is authenticated.
 * @param limitBytes larger bodies are refused with 413 before they are read completely
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
  const capacity = new BodyCapacity();
  const skip = json(limitBytes);
  const parse = capacity.limit(json, limitBytes);
  const text = capacity.limit(
    (limit) => express.text({ limit, inflate: false, type: () => true }),
    Math.min(limitBytes, MOST_FORM_BYTES),
  );
  return (request, response, next) => {
    if (mayBeForm(request)) {
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

/**
 * Converts errors of the parser, which have a `type`. Their messages may quote the body, so they
 * are not repeated.
 */
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
      return new DomainError('request.incomplete', 'invalid', 'The request body is incomplete');
    case 'encoding.unsupported':
    case 'charset.unsupported':
      return unsupported();
    default:
      return error;
  }
}
