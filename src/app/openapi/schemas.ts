/** The parts of a schema of the document that are looked at or changed. */
export interface Schema {
  $ref?: string;
  type?: string;
  nullable?: boolean;
  description?: string;
  example?: unknown;
  enum?: unknown[];
  format?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: boolean | Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
}
export type Schemas = Record<string, Schema>;

/** The schema that a `$ref` names, or the schema itself. */
export function resolved(schemas: Schemas, schema: Schema): Schema {
  const named = schema.$ref && schemas[schema.$ref.split('/').at(-1) ?? ''];
  return named ? resolved(schemas, named) : schema;
}

/** Names of the schemas that a part of the document refers to, directly or through others. */
export function namesIn(part: unknown, schemas: Schemas, names = new Set<string>()): Set<string> {
  if (typeof part !== 'object' || part === null) return names;
  const name = '$ref' in part ? String(part.$ref).split('/').at(-1) : undefined;
  if (name !== undefined && !names.has(name)) {
    names.add(name);
    namesIn(schemas[name], schemas, names);
  }
  for (const inner of Object.values(part)) namesIn(inner, schemas, names);
  return names;
}

/** The schemas directly within a schema, each with the name of its property or ''. */
export function parts(schema: Schema): [name: string, part: Schema][] {
  const { properties = {}, items, additionalProperties: more } = schema;
  const unnamed = [items, typeof more === 'object' ? more : undefined];
  const choices = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  return [
    ...Object.entries(properties),
    ...[...unnamed, ...choices].flatMap((part): [string, Schema][] => (part ? [['', part]] : [])),
  ];
}

/** Calls `visit` for a schema and all within it; `path` has the names of the properties. */
export function walk(
  schema: Schema,
  visit: (schema: Schema, path: readonly string[]) => void,
  path: readonly string[] = [],
): void {
  visit(schema, path);
  for (const [name, part] of parts(schema)) walk(part, visit, name ? [...path, name] : path);
}

/** The type of a schema, or of its first part that has one. */
function typeOf(schemas: Schemas, schema: Schema): string | undefined {
  const { type, anyOf = [], oneOf = [], allOf = [] } = resolved(schemas, schema);
  if (type) return type;
  for (const part of [...anyOf, ...oneOf, ...allOf]) {
    const found = typeOf(schemas, part);
    if (found) return found;
  }
  return undefined;
}

/**
 * Moves `nullable` to where OpenAPI 3.0 defines it: beside a `type`, and with null in the list of
 * values if there is one. zod writes it beside `anyOf` and `allOf`, where most tools ignore it.
 */
export function placeNullable(schemas: Schemas, schema: Schema): void {
  if (!schema.nullable) return;
  if (schema.enum && !schema.enum.includes(null)) schema.enum = [...schema.enum, null];
  if (schema.type) return;
  const choices = schema.anyOf ?? schema.oneOf;
  const first = choices?.find(({ type, $ref }) => type ?? !$ref) ?? choices?.[0];
  if (!choices || !first) {
    schema.type = typeOf(schemas, schema) ?? 'object';
    return;
  }
  delete schema.nullable;
  if (first.$ref) choices[choices.indexOf(first)] = { allOf: [{ ...first }], nullable: true };
  else first.nullable = true;
  placeNullable(schemas, choices.find(({ nullable }) => nullable) ?? first);
}
