import type { OpenAPIObject } from '@nestjs/swagger';
import { resolved, type Schema, type Schemas } from '../../src/app/openapi/schemas.ts';

/** A field that no schema knows and no known field resembles. */
const UNKNOWN = 'zzqq_unknown';
const VERBS = ['get', 'post', 'put', 'patch', 'delete'] as const;

/** An operation of the document. */
export interface DocumentedOperation {
  verb: (typeof VERBS)[number];
  /** Path of the document, with parameters in braces. */
  path: string;
  /** Names of the security schemes. */
  security: readonly string[];
  /** Content types of its body; none if it has no body. */
  bodies: readonly string[];
}

/** An operation of the document, and a body whose objects all have an unknown field. */
export interface UnknownFieldsCase extends Omit<DocumentedOperation, 'bodies'> {
  body: Record<string, unknown>;
  /** Paths of the unknown fields, as responses show them. */
  unknown: string[];
}

/** The schema of an object with known fields, and what leads to it from a value: nothing or `0`. */
function objectIn(
  schemas: Schemas,
  given: Schema,
): { object: Schema; isItem: boolean } | undefined {
  const schema = resolved(schemas, given);
  const choices = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  if (choices.length === 0) {
    if (schema.properties) return { object: schema, isItem: false };
    const item = schema.items && objectIn(schemas, schema.items);
    return item && { object: item.object, isItem: true };
  }
  const objects = choices.map((choice) => resolved(schemas, choice));
  // The client chooses the keys.
  if (objects.some(({ properties, additionalProperties }) => !properties && additionalProperties))
    return undefined;
  return objects.map((choice) => objectIn(schemas, choice)).find((found) => found !== undefined);
}

/** An object with an unknown field, in itself and in each object within it. */
function filled(schemas: Schemas, schema: Schema, place: readonly string[], unknown: string[]) {
  const body: Record<string, unknown> = { [UNKNOWN]: 1 };
  unknown.push([...place, UNKNOWN].join('.'));
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const found = objectIn(schemas, field);
    const { enum: values } = resolved(schemas, field);
    if (name === 'type' && values) body[name] = values[0];
    if (!found) continue;
    const inner = [...place, name, ...(found.isItem ? ['0'] : [])];
    const value = filled(schemas, found.object, inner, unknown);
    body[name] = found.isItem ? [value] : value;
  }
  return body;
}

/** All operations of a document. */
export function operationsOf({ paths }: OpenAPIObject): DocumentedOperation[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    VERBS.flatMap((verb) => {
      const operation = operations[verb];
      if (!operation) return [];
      const { requestBody: body } = operation;
      return {
        verb,
        path,
        security: (operation.security ?? []).flatMap((scheme) => Object.keys(scheme)),
        bodies: body && 'content' in body ? Object.keys(body.content) : [],
      };
    }),
  );
}

/** Names of fields in bodies whose keys the client chooses, so that none of them is unknown. */
export function freeFields({ paths, components }: OpenAPIObject): string[] {
  const schemas = (components?.schemas ?? {}) as Schemas;
  const free = new Set<string>();
  const visit = (given: Schema, name: string): void => {
    const schema = resolved(schemas, given);
    const choices = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
    const isRecord = Boolean(schema.additionalProperties) && !schema.properties;
    if (isRecord) free.add(name);
    for (const choice of choices) visit(choice, name);
    if (schema.items) visit(schema.items, name);
    for (const [inner, field] of Object.entries(schema.properties ?? {})) visit(field, inner);
  };
  for (const { verb, path } of operationsOf({ paths } as OpenAPIObject)) {
    const body = paths[path]?.[verb]?.requestBody;
    for (const { schema } of Object.values((body && 'content' in body && body.content) || {}))
      if (schema) visit(schema as Schema, '');
  }
  return [...free].toSorted((a, b) => a.localeCompare(b));
}

/** A case for each operation of a document that has a body in JSON. */
export function unknownFieldsCases({ paths, components }: OpenAPIObject): UnknownFieldsCase[] {
  const schemas = (components?.schemas ?? {}) as Schemas;
  return Object.entries(paths).flatMap(([path, operations]) =>
    VERBS.flatMap((verb) => {
      const operation = operations[verb];
      const body = operation?.requestBody;
      const schema = body && 'content' in body && body.content['application/json']?.schema;
      if (!schema) return [];
      const found = objectIn(schemas, schema as Schema);
      if (!found) throw new Error(`${verb} ${path} has a body without fields`);
      const unknown: string[] = [];
      const security = (operation.security ?? []).flatMap((scheme) => Object.keys(scheme));
      return [{ verb, path, security, body: filled(schemas, found.object, [], unknown), unknown }];
    }),
  );
}
