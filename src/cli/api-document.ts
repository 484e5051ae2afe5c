import fs from 'node:fs';
import { nearestName } from '../platform/base/text/nearest-name.ts';
import { ApiCommandError } from './api-error.ts';

/** The part of a schema of the OpenAPI document that decides which names an object may have. */
interface Schema {
  $ref?: string;
  properties?: Readonly<Record<string, Schema>>;
  additionalProperties?: unknown;
  items?: Schema;
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
  allOf?: readonly Schema[];
}

interface Operation {
  parameters?: readonly { name: string; in: string }[];
  requestBody?: { content: Readonly<Record<string, { schema?: Schema }>> };
}

interface Document {
  paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  components: { schemas: Readonly<Record<string, Schema>> };
}

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

/** The document of this version: in the root of the project, and in `dist`. */
const FILE = new URL('../../openapi.json', import.meta.url);

/** The names of an object, or `null` if it may have any name. */
type Names = ReadonlyMap<string, Schema[]> | null;

const anonymous = (path: string): string => path.replaceAll(/\{[^}]*\}/g, '{}');

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

function operationOf(document: Document, { verb, path }: PlannedRequest): Operation | undefined {
  const wanted = anonymous(path);
  const [, item] =
    Object.entries(document.paths).find(([known]) => anonymous(known) === wanted) ?? [];
  return item?.[verb.toLowerCase()];
}

/** The schema itself, its alternatives and parts, and the schemas that they name by `$ref`. */
function choicesOf(document: Document, schema: Schema): Schema[] {
  const { $ref, anyOf = [], oneOf = [], allOf = [] } = schema;
  const named = $ref && document.components.schemas[$ref.split('/').at(-1) ?? ''];
  const parts = [...(named ? [named] : []), ...anyOf, ...oneOf, ...allOf];
  return [schema, ...parts.flatMap((part) => choicesOf(document, part))];
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
  document: Document,
  value: unknown,
  schemas: readonly Schema[],
  at = '',
): void {
  if (typeof value !== 'object' || value === null) return;
  const choices = schemas.flatMap((schema) => choicesOf(document, schema));
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
export function assertKnown(request: PlannedRequest): void {
  const document = JSON.parse(fs.readFileSync(FILE, 'utf8')) as Document;
  const operation = operationOf(document, request);
  if (!operation) return;
  const parameters = (operation.parameters ?? []).filter((one) => one.in === 'query');
  const known = parameters.map(({ name }) => name);
  const unknown = request.query.find((name) => !known.includes(name));
  if (unknown !== undefined) throw unknownName('query parameter', unknown, known);
  const schema = operation.requestBody?.content['application/json']?.schema;
  if (schema && request.body !== undefined)
    assertKnownFields(document, JSON.parse(request.body), [schema]);
}
