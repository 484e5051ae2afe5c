import { nearestName } from '../../platform/base/text/nearest-name.ts';
import { ApiDocument, type Schema } from './document.ts';
import { ApiCommandError } from './error.ts';

/** A request, before it is sent. */
export interface PlannedRequest {
  verb: string;
  /** Path with placeholders, such as `/events/{id}`; their names do not matter. */
  path: string;
  /** Names of the query parameters. */
  query: readonly string[];
  /** JSON text. */
  body?: string;
}

/** The names of an object, or `null` if it may have any name. */
type Names = ReadonlyMap<string, Schema[]> | null;

function unknownName(what: string, name: string, known: readonly string[]): ApiCommandError {
  const nearest = nearestName(name, known);
  const hint =
    nearest === undefined
      ? known.length === 0
        ? 'there are none here'
        : `known: ${known.join(', ')}`
      : `did you mean ${nearest}?`;
  return new ApiCommandError(
    `Unknown ${what} ${name.slice(0, 100)}; ${hint} (--unchecked sends it all the same)`,
  );
}

function namesOf(choices: readonly Schema[]): Names {
  const objects = choices.filter(({ properties }) => properties);
  const isOpen = choices.some(
    ({ additionalProperties: more }) => typeof more === 'object' || more === true,
  );
  if (objects.length === 0 || isOpen) return null;
  const names = new Map<string, Schema[]>();
  for (const { properties = {} } of objects) {
    for (const [name, schema] of Object.entries(properties))
      names.set(name, [...(names.get(name) ?? []), schema]);
  }
  return names;
}

/**
 * Checks the names of a value, and of the values in it.
 * @param schemas the value may satisfy any of them
 * @param at path of the value, for errors; empty for the whole body
 */
function assertKnownFields(
  document: ApiDocument,
  value: unknown,
  schemas: readonly Schema[],
  at = '',
): void {
  if (typeof value !== 'object' || value === null) return;
  const choices = schemas.flatMap((schema) => document.choices(schema));
  if (Array.isArray(value)) {
    const items = choices.flatMap(({ items: one }) => one ?? []);
    for (const item of value) assertKnownFields(document, item, items, at);
    return;
  }
  const known = namesOf(choices);
  if (!known) return;
  const pathOf = (name: string): string => (at ? `${at}.${name}` : name);
  for (const [name, inner] of Object.entries(value)) {
    const inside = known.get(name);
    if (!inside)
      throw unknownName('field of the body:', pathOf(name), [...known.keys()].map(pathOf));
    assertKnownFields(document, inner, inside, pathOf(name));
  }
}

/**
 * Refuses a request with a query parameter or a field of the body that the OpenAPI document of this
 * version does not have: the server might ignore it.
 * @throws {ApiCommandError} naming the first unknown name and the nearest known one
 */
export function assertKnown(request: PlannedRequest, document = ApiDocument.read()): void {
  const operation = document.operation(request.verb, request.path);
  if (!operation) return;
  const known = document.filters(operation).map(({ name }) => name);
  const unknown = request.query.find((name) => !known.includes(name));
  if (unknown !== undefined) throw unknownName('query parameter', unknown, known);
  const schema = document.body(operation);
  if (schema && request.body !== undefined)
    assertKnownFields(document, JSON.parse(request.body), [schema]);
}
