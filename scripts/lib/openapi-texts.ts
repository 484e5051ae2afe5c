import type { OpenAPIObject } from '@nestjs/swagger';
import { namesInBodies } from '../../src/app/openapi/descriptions.ts';
import { operationsOf } from '../../src/app/openapi/operations-of.ts';
import { resolved, type Schemas, walk } from '../../src/app/openapi/schemas.ts';

/**
 * What lacks a text in a document: parameters and fields without a description, and parameters and
 * fields of request bodies without an example.
 * @param text the document as JSON
 * @returns one line for each, which says where the text can be written
 */
export function missingTexts(text: string): string[] {
  const document = JSON.parse(text) as OpenAPIObject;
  return [...ofParameters(document), ...ofFields(document)];
}

function ofParameters(document: OpenAPIObject): string[] {
  return operationsOf(document).flatMap(({ path, verb, operation }) =>
    (operation.parameters ?? []).flatMap(({ name, description, example }) => {
      const at = `${verb.toUpperCase()} ${path}: parameter ${name}`;
      return lacking(at, description, example, 'src/app/openapi/parameter-texts.ts');
    }),
  );
}

function ofFields(document: OpenAPIObject): string[] {
  const schemas = (document.components?.schemas ?? {}) as Schemas;
  const inBodies = namesInBodies(document, schemas);
  const found: string[] = [];
  for (const [name, schema] of Object.entries(schemas)) {
    walk(schema, ({ properties = {} }, path) => {
      for (const [key, field] of Object.entries(properties)) {
        const { description, example } = resolved(schemas, field);
        const needed = !field.$ref && inBodies.has(name);
        const at = `field ${[name, ...path, key].join('.')}`;
        const table = 'src/app/openapi/field-texts.ts';
        found.push(...lacking(at, description, needed ? example : null, table));
      }
    });
  }
  return found;
}

function lacking(at: string, text: string | undefined, example: unknown, table: string): string[] {
  return [
    ...(text ? [] : [`${at} has no description. Write one in its schema or in ${table}`]),
    ...(example === undefined
      ? [`${at} has no example. Write one in its schema or in ${table}`]
      : []),
  ];
}
