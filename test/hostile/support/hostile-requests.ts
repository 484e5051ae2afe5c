import fc from 'fast-check';
import type { ApiDocument, Operation, Schema } from '../../support/api-document.ts';
import { replaceAt } from '../../support/hostile.ts';
import { hostileHeader, hostileJson, hostileSegment } from './hostile-values.ts';

/** A request that may be wrong in any part. */
export interface HostileRequest {
  /** The id in the path, or `null` for a valid id. */
  id: string | null;
  /** Encoded, without `?`. */
  query: string;
  /** JSON or a similar text, or `undefined` for no body. */
  body: string | undefined;
  headers: Record<string, string>;
}

/**
 * JSON of a value that matches a schema, or `{}` if the schema describes none. `null` below five
 * levels.
 */
function fitting(document: ApiDocument, schema: Schema, depth = 0): fc.Arbitrary<string> {
  const resolved = document.resolve(schema);
  if (depth > 5) return fc.constant('null');
  const choices = [...(resolved.anyOf ?? []), ...(resolved.oneOf ?? []), ...(resolved.allOf ?? [])];
  if (choices.length > 0)
    return fc.oneof(...choices.map((choice) => fitting(document, choice, depth + 1)));
  if (resolved.enum) return fc.constantFrom(...resolved.enum.map((value) => JSON.stringify(value)));
  if (resolved.example !== undefined && depth > 0)
    return fc.constant(JSON.stringify(resolved.example));
  switch (resolved.type) {
    case 'integer':
    case 'number':
      return fc.oneof(fc.integer({ min: 0, max: 100 }), fc.integer()).map(String);
    case 'boolean':
      return fc.constantFrom('true', 'false');
    case 'array':
      return fc
        .array(fitting(document, resolved.items ?? {}, depth + 1), { maxLength: 3 })
        .map((parts) => `[${parts.join(',')}]`);
    case 'object':
      return fittingObject(document, resolved, depth);
    case 'string':
      return fc.constantFrom(
        '"x"',
        '"ada@example.test"',
        '"1900000000"',
        '"2030-01-01"',
        '"Europe/Berlin"',
      );
    default:
      return fc.constantFrom('{}', '"x"', '1');
  }
}

function fittingObject(
  document: ApiDocument,
  { properties = {}, required = [] }: Schema,
  depth: number,
) {
  const fields = Object.entries(properties).map(([name, property]) => {
    const value = fitting(document, property, depth + 1).map(
      (text) => `${JSON.stringify(name)}:${text}`,
    );
    return required.includes(name) ? value : fc.option(value, { nil: null, freq: 2 });
  });
  return fc.tuple(...fields).map((parts) => `{${parts.filter((part) => part !== null).join(',')}}`);
}

/** A body that is valid except for some fields, completely valid, or of another kind. */
function bodies(document: ApiDocument, schema: Schema, good: object): fc.Arbitrary<string> {
  const fields = [...document.fieldsOf(schema, good)];
  const any = fc.oneof(
    { weight: 1, arbitrary: fitting(document, schema) },
    { weight: 1, arbitrary: hostileJson() },
  );
  if (fields.length === 0) return any;
  const changed = fc
    .constantFrom(...fields)
    .chain((field) =>
      fc
        .oneof(
          { weight: 4, arbitrary: hostileJson() },
          { weight: 1, arbitrary: fitting(document, field.schema) },
        )
        .map((value) => replaceAt(good, field.path, value)),
    );
  return fc.oneof({ weight: 5, arbitrary: changed }, { weight: 2, arbitrary: any });
}

/**
 * Requests to one operation, made from its description.
 * @param good a body that the operation accepts
 */
export function hostileRequests(
  document: ApiDocument,
  operation: Operation,
  good: object,
): fc.Arbitrary<HostileRequest> {
  const { queryParameters, pathParameters, body, method } = operation;
  const hasId = pathParameters.some((name) => name !== 'client_id');
  const query = fc
    .array(
      fc.tuple(
        fc.oneof(
          { weight: 5, arbitrary: fc.constantFrom(...queryParameters, 'limit') },
          { weight: 1, arbitrary: fc.constantFrom('__proto__', 'limit[]', 'view[a][b]', '') },
        ),
        fc.oneof(hostileSegment(), fc.constantFrom('1', '0', 'true', 'ids', '1900000000')),
      ),
      { maxLength: 4 },
    )
    .map((pairs) => pairs.map(([name, value]) => `${name}=${value}`).join('&'));
  const header = fc.constantFrom(
    'idempotency-key',
    'if-match',
    'if-none-match',
    'range',
    'accept',
    'x-request-id',
  );
  return fc.record({
    // Deleted objects would be missing in the tests that follow.
    id: hasId
      ? fc.option(hostileSegment(), { nil: null, freq: method === 'DELETE' ? 1_000 : 3 })
      : fc.constant(null),
    query,
    body: body
      ? bodies(document, body, good)
      : fc.option(hostileJson(), { nil: undefined, freq: 1 }),
    headers: fc.dictionary(header, hostileHeader(), { maxKeys: 2 }),
  });
}
