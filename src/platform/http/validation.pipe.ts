import type { ArgumentMetadata } from '@nestjs/common';
import { StandardSchemaValidationPipe } from '@nestjs/common';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { ZodType } from 'zod';
import { InvalidInputError } from '../base/errors/domain-error.ts';
import { isOauthRequest, queryFields } from '../wire/schema-fields.ts';
import { emptyListToMap } from '../wire/wire.schema.ts';

type Path = NonNullable<StandardSchemaV1.Issue['path']>;

const keyOf = (segment: Path[number]): PropertyKey =>
  typeof segment === 'object' ? segment.key : segment;

/** Whether the input has no value at `path`. */
function isAbsent(value: unknown, path: Path): boolean {
  let current = value;
  for (const segment of path) {
    if (typeof current !== 'object' || current === null) return false;
    current = (current as Record<PropertyKey, unknown>)[keyOf(segment)];
  }
  return current === undefined;
}

const MAX_DEPTH = 100;
/**
 * Many times more than a sensible request contains. A schema creates an issue for every wrong
 * value.
 */
const MAX_VALUES = 100_000;
/**
 * How much of the path to a wrong value is shown: the client chooses its names, which can be long
 * and many.
 */
const SHOWN_PATH = { segments: 6, characters: 60 } as const;

const shownPath = (path: readonly string[], segments: number = SHOWN_PATH.segments): string =>
  path
    .slice(0, segments)
    .map((name) => name.slice(0, SHOWN_PATH.characters))
    .join('.');

/** What is wrong with a value, and its path, innermost name first. */
interface Flaw {
  what: string;
  path: string[];
  /** Maximum number of names to show; default: `SHOWN_PATH.segments`. */
  segments?: number;
}

const flaw = (what: string, segments?: number): Flaw => ({ what, path: [], segments });

/**
 * Names that reach the prototype of all objects. They are refused, because dropping them would
 * silently lose the client's data.
 */
const FORBIDDEN_NAMES = new Set(['__proto__', 'constructor', 'prototype']);

function flawOfName(name: string): Flaw | undefined {
  if (FORBIDDEN_NAMES.has(name)) return flaw(`must not be ${name}`);
  return flawOfText(name);
}

function flawOfText(text: string): Flaw | undefined {
  if (text.includes('\0')) return flaw('must not contain the NUL character');
  return text.isWellFormed() ? undefined : flaw('must not contain half a surrogate pair');
}

/**
 * Finds values that no schema allows and no table can store: the NUL character and halves of
 * surrogate pairs, which PostgreSQL refuses. Also finds nesting that would exhaust the stack, and
 * more values than a schema should check.
 */
function flawOf(value: unknown, left: { values: number }, depth = 0): Flaw | undefined {
  if (--left.values < 0) return flaw(`has more than ${MAX_VALUES} values`, 1);
  if (typeof value === 'string') return flawOfText(value);
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth === MAX_DEPTH) return flaw(`is nested deeper than ${MAX_DEPTH} levels`);
  for (const key in value) {
    const inKey = Array.isArray(value) ? undefined : flawOfName(key);
    if (inKey) return flaw(`has a name that ${inKey.what}`);
    const found = flawOf((value as Record<string, unknown>)[key], left, depth + 1);
    if (found) {
      found.path.push(key);
      return found;
    }
  }
  return undefined;
}

/** @throws {InvalidInputError} naming the first field with a flaw */
function assertStorable(value: unknown): void {
  const found = flawOf(value, { values: MAX_VALUES });
  if (!found) return;
  const name = shownPath(found.path.toReversed(), found.segments);
  throw new InvalidInputError(name ? `${name}: ${found.what}` : `The request ${found.what}`);
}

/**
 * Reduces a repeated query parameter that has one value to its last value: some clients append
 * parameters to a URL that has them already. Lists are unchanged.
 */
function withoutRepeats(query: unknown, schema: ZodType): unknown {
  if (typeof query !== 'object' || query === null || isOauthRequest(schema)) return query;
  const values = Object.entries(query) as [string, unknown][];
  if (!values.some(([, value]) => Array.isArray(value))) return query;
  const fields = queryFields(schema);
  return Object.fromEntries(
    values.map(([name, value]) => [
      name,
      Array.isArray(value) && !fields.get(name)?.isList ? (value.at(-1) as unknown) : value,
    ]),
  );
}

const MAX_ISSUES = 10;

/**
 * Validates bodies and queries with the schema given to `@Body({ schema })` and `@Query({ schema
 * })`. If a query parameter that is not a list is repeated, its last value counts. The error names
 * the first ten wrong fields. Required fields that are absent are also listed in `missing_fields`.
 */
export class SchemaValidationPipe extends StandardSchemaValidationPipe {
  override async transform<T = unknown>(value: T, metadata: ArgumentMetadata): Promise<T> {
    const schema = metadata.schema as StandardSchemaV1 | undefined;
    if (!schema || !this.toValidate(metadata)) return value;
    let input: unknown = value;
    if (metadata.type === 'body') {
      input = emptyListToMap(value) ?? {};
      if (typeof input !== 'object' || Array.isArray(input))
        throw new InvalidInputError('Invalid request body: must be a JSON object');
    }
    assertStorable(input);
    if (metadata.type === 'query') input = withoutRepeats(input, schema as ZodType);
    this.stripProtoKeys(input);
    const result = await this.validate<T>(input, schema);
    if (!result.issues) return result.value;
    const shown = result.issues.slice(0, MAX_ISSUES);
    const missingFields: string[] = [];
    const messages = shown.map(({ path = [], message }) => {
      const name = shownPath(path.map((segment) => String(keyOf(segment))));
      if (path.length > 0 && isAbsent(input, path)) {
        missingFields.push(name);
        return `${name} is required`;
      }
      return name ? `${name}: ${message}` : message;
    });
    if (result.issues.length > shown.length)
      messages.push(`and ${result.issues.length - shown.length} more`);
    throw new InvalidInputError(
      messages.join('; '),
      missingFields.length > 0 ? { missingFields } : {},
    );
  }
}
