import type { OpenAPIObject } from '@nestjs/swagger';
import { FIELD_EXAMPLES, FIELD_TEXTS, SCHEMA_TEXTS } from './field-texts.ts';
import type { Parameter } from './operations.ts';
import { NAMED_BY_PATH, PARAMETER_TEXTS } from './parameter-texts.ts';
import { namesIn, resolved, type Schema, type Schemas, walk } from './schemas.ts';

/** Gives a parameter the description that its schema lacks, and an example. */
export function describeParameter(parameter: Parameter, path: string): void {
  const { name, schema } = parameter;
  const [text, example] = PARAMETER_TEXTS[name.toLowerCase()] ?? PARAMETER_TEXTS[name] ?? [];
  const segments = path.split('/');
  const owner = segments[segments.indexOf(`{${name}}`) - 1];
  const named = name === 'id' && owner ? `Id of the ${NAMED_BY_PATH[owner] ?? owner}` : undefined;
  parameter.description ??= named ?? text;
  // Among the choices, because a schema may allow only some of the values.
  parameter.example ??=
    schema?.example ??
    (schema?.enum
      ? (schema.enum.find((one) => one === example) ?? schema.enum.at(-1))
      : undefined) ??
    (named ? '019aa1b2-0000-7000-8000-000000000001' : example) ??
    sample(schema);
  // Generated for parameters without a schema of their own.
  if (schema && Object.keys(schema).length === 0) schema.type = 'string';
}

/** A value of a schema without an example, or `undefined` if there is no obvious one. */
function sample(schema: Schema | undefined): unknown {
  if (!schema) return undefined;
  const { enum: values, type, anyOf = [], oneOf = [] } = schema;
  if (values) return values.find((value) => value !== '') ?? values[0];
  if (type === 'boolean') return true;
  for (const choice of [...anyOf, ...oneOf]) {
    const found = sample(choice);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Gives the fields of all schemas the descriptions that they lack, and those of request bodies an
 * example: that of the whole body, or that of the table.
 */
export function describeFields(document: OpenAPIObject, schemas: Schemas): void {
  const inBodies = namesInBodies(document, schemas);
  for (const [name, schema] of Object.entries(schemas)) {
    const text = SCHEMA_TEXTS[name];
    if (text !== undefined) schema.description ??= text;
    walk(schema, (one, path) => {
      for (const [key, field] of Object.entries(one.properties ?? {}))
        describeField(schemas, field, [name, ...path, key], inBodies.has(name) ? one : undefined);
    });
  }
}

function describeField(
  schemas: Schemas,
  field: Schema,
  path: readonly string[],
  bodyOrPart: Schema | undefined,
): void {
  // A reference has no text of its own in OpenAPI 3.0.
  if (field.$ref) return;
  const [text, example] = entryOf(FIELD_TEXTS, path) ?? [];
  field.description ??= text;
  if (!bodyOrPart || field.example !== undefined) return;
  const whole = bodyOrPart.example as Record<string, unknown> | undefined;
  const found =
    whole?.[path.at(-1) ?? ''] ??
    field.allOf?.map((part) => resolved(schemas, part).example).find(Boolean) ??
    sample(field) ??
    entryOf(FIELD_EXAMPLES, path) ??
    example;
  if (found !== undefined) field.example = found;
}

/** The entry of a table whose key is the longest end of the path. */
export function entryOf<T>(table: Readonly<Record<string, T>>, path: readonly string[]) {
  // The field of one object, wherever it stands in it: `OpenHours.start`.
  const ownerAndField = `${path[0]}.${path.at(-1)}`;
  const keys = path.map((_, from) => path.slice(from).join('.'));
  return [...keys.slice(0, -1), ownerAndField, keys.at(-1) ?? '']
    .map((key) => table[key])
    .find((entry) => entry !== undefined);
}

/** Names of the schemas that request bodies consist of. */
export function namesInBodies(document: OpenAPIObject, schemas: Schemas): Set<string> {
  const operations = Object.values(document.paths).flatMap((item) => Object.values(item));
  return namesIn(
    operations.map((operation: { requestBody?: unknown }) => operation.requestBody),
    schemas,
  );
}
