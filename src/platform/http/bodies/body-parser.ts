import { isUtf8 } from 'node:buffer';
import type { Request } from 'express';
import { DomainError } from '../../base/errors/domain-error.ts';
import { assertModestJson } from './json-shape.ts';

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

/** How the body of a request is read. */
export interface BodyFormat {
  /** Maximum size of this format in bytes. */
  most: number;
  /** Whether a client without credentials may send as much. */
  isNotification: boolean;
  /** @throws {DomainError} if the bytes have another format, or are too expensive to parse */
  parse(bytes: Buffer): unknown;
}

/** Returns how the body of a request is read, or null if its handler reads it. */
export function bodyFormatOf({ originalUrl, headers }: Request): BodyFormat | null {
  const type = headers['content-type'] ?? '';
  if (RAW.test(originalUrl)) return NOTIFICATION;
  if (NOT_JSON.test(type)) return null;
  const mayBeForm =
    FORMS.test(originalUrl) && (FORM.test(type) || UNDECLARED_FORMS.test(originalUrl));
  return mayBeForm ? FORM_OR_JSON : JSON_ONLY;
}

const NOTIFICATION: BodyFormat = {
  most: MOST_RAW_BYTES,
  isNotification: true,
  parse: (bytes) => {
    // The connector of the provider parses it.
    assertModestJson(bytes);
    return bytes;
  },
};
const FORM_OR_JSON: BodyFormat = { most: MOST_FORM_BYTES, isNotification: false, parse: readForm };
const JSON_ONLY: BodyFormat = { most: Infinity, isNotification: false, parse: readJson };

const BYTE_ORDER_MARK = '\uFEFF';

/** @throws {DomainError} if the bytes are not UTF-8 (RFC 8259 8.1) */
function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw notUtf8();
  const text = bytes.toString();
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
}

/** @throws {DomainError} if the bytes are not JSON, or too expensive to parse */
function readJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return {};
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

const malformed = (): DomainError =>
  new DomainError('request.malformed', 'invalid', 'The request body is not valid JSON', {
    type: 'api_error',
  });

const notUtf8 = (): DomainError =>
  new DomainError('request.encoding', 'invalid', 'The request body must be encoded in UTF-8');
