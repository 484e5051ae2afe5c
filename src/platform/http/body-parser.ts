import { isUtf8 } from 'node:buffer';
import express, { type Request, type RequestHandler } from 'express';
import { DomainError } from '../base/errors/domain-error.ts';
import { assertModestJson } from './json-shape.ts';
import { BodyCapacity } from './large-bodies.ts';

/** Content types of bodies that are not JSON. Their handlers read them. */
const NOT_JSON = /^(multipart\/form-data|message\/rfc822)\b/i;

/** Paths that accept forms, from browsers and OAuth clients (RFC 6749 4.1.3). */
const FORMS = /^\/(connect\/login|oauth\/token|console)(\/|\?|$)/;
const FORM = /^application\/x-www-form-urlencoded\b/i;
/** Where some clients send a form and declare it as JSON, as Ruby's does with rest-client 2.0. */
const UNDECLARED_FORMS = /^\/oauth\/token(\/|\?|$)/;
/** Paths whose handlers get the bytes, because signatures cover them. */
const RAW = /^\/push\//;
/** Notifications name what has changed, and have no content. */
const MOST_RAW_BYTES = 1024 * 1024;
/** Far more than the fields of a sign-in page need. */
const MOST_FORM_BYTES = 64 * 1024;

const isReadElsewhere = ({ headers }: Request): boolean =>
  NOT_JSON.test(headers['content-type'] ?? '');

const mayBeForm = ({ originalUrl, headers }: Request): boolean =>
  FORMS.test(originalUrl) &&
  (FORM.test(headers['content-type'] ?? '') || UNDECLARED_FORMS.test(originalUrl));

const BYTE_ORDER_MARK = '\uFEFF';

/** @throws {DomainError} if the bytes are not UTF-8 (RFC 8259 8.1) */
function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw notUtf8();
  const text = bytes.toString();
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
}

/** @throws {DomainError} if the bytes are not JSON, or too expensive to parse */
function readJson(bytes: Buffer): unknown {
  assertModestJson(bytes);
  const text = textOf(bytes);
  try {
    return JSON.parse(text);
  } catch {
    throw malformed();
  }
}

/**
 * Parses the body as a form, or as JSON if it starts with `{`: curl declares every body to be a
 * form.
 */
function readForm(bytes: Buffer): unknown {
  const text = textOf(bytes);
  return text.trimStart().startsWith('{')
    ? readJson(bytes)
    : Object.fromEntries(new URLSearchParams(text));
}

/**
 * Parses request bodies as JSON, whatever their Content-Type, also for DELETE. The official client
 * sends JSON as `text/plain`, curl as a form. JSON is UTF-8 (RFC 8259 8.1), whatever charset the
 * Content-Type names: some clients name one that does not exist. A missing or empty body becomes
 * `{}`. Forms are accepted only on the paths that need them. Compressed bodies are refused: a few
 * kilobytes could expand to megabytes before the sender is authenticated.
 * @param limitBytes larger bodies are refused with 413 before they are read completely
 */
export function jsonBodyParser(limitBytes: number): RequestHandler {
  const capacity = new BodyCapacity();
  const bytes = (limit: number): RequestHandler =>
    express.raw({ limit, inflate: false, type: () => true });
  const json = capacity.limit(bytes, limitBytes);
  const form = capacity.limit(bytes, Math.min(limitBytes, MOST_FORM_BYTES));
  const raw = capacity.limit(bytes, Math.min(limitBytes, MOST_RAW_BYTES));
  return (request, response, next) => {
    if (RAW.test(request.originalUrl)) {
      return raw(request, response, (error?: unknown) =>
        next(error === undefined ? undefined : toDomainError(error)),
      );
    }
    if (isReadElsewhere(request)) return next();
    const [receive, parse] = mayBeForm(request) ? [form, readForm] : [json, readJson];
    receive(request, response, (error?: unknown) => {
      if (error !== undefined) return next(toDomainError(error));
      const body = request.body as Buffer | undefined;
      try {
        request.body = body && body.length > 0 ? parse(body) : {};
      } catch (refusal) {
        return next(refusal);
      }
      next();
    });
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

const notUtf8 = (): DomainError =>
  new DomainError('request.encoding', 'invalid', 'The request body must be encoded in UTF-8');

/**
 * Converts errors of the parser, which have a `type`. Their messages may quote the body, so they
 * are not repeated.
 */
function toDomainError(error: unknown): unknown {
  if (error instanceof DomainError) return error;
  switch ((error as { type?: unknown }).type) {
    case 'entity.too.large':
      return new DomainError('request.too-large', 'too-large', 'The request body is too large');
    case 'request.aborted':
    case 'request.size.invalid':
      return new DomainError('request.incomplete', 'invalid', 'The request body is incomplete');
    case 'encoding.unsupported':
      return unsupported();
    default:
      return error;
  }
}
