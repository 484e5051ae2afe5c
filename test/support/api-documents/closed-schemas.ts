import { Ajv, type ValidateFunction } from 'ajv';
import { type Api, documentOf, type Schema } from './documents.ts';

/** Whether a body is sent to a service or comes from it. */
export type Direction = 'request' | 'answer';

type JsonSchema = Record<string, unknown>;

/** Annotations of OData that may stand beside the properties of every object of Graph. */
const ANNOTATIONS =
  '^\\w*@(odata\\.(context|etag|id|type|count|nextLink|deltaLink|editLink|readLink|bind|' +
  'navigationLink|associationLink|mediaContentType|mediaEtag|mediaReadLink|mediaEditLink)|removed)$';
const FORMATS: Record<string, RegExp> = {
  'date-time': /^\d{4,}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/,
  'google-datetime': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/,
  date: /^\d{4}-\d\d-\d\d$/,
  time: /^\d\d:\d\d:\d\d(\.\d+)?$/,
  byte: /^[\w+/-]*={0,2}$/,
  base64url: /^[\w+/-]*={0,2}$/,
  int64: /^-?\d{1,19}$/,
  uint64: /^\d{1,20}$/,
  'google-fieldmask': /^[\w.,]*$/,
};

/** Calendar takes a time without an offset beside a time zone. */
const ZONED = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)?$/;

const validators = new Map<string, ValidateFunction>();
const instances = new Map<string, Ajv>();

/**
 * Returns a validator of a schema in which every unknown property is an error, while the documents
 * say nothing about unknown properties.
 * @param key names the schema, so that it is compiled once
 * @param schema a schema of the document, with references to the document's components
 */
export function validatorOf(
  api: Api,
  direction: Direction,
  key: string,
  schema: Schema,
): ValidateFunction {
  const name = `${api} ${direction} ${key}`;
  const known = validators.get(name);
  if (known) return known;
  const made = instanceOf(api, direction).compile(new Closing(api, direction).closed(schema));
  validators.set(name, made);
  return made;
}

function instanceOf(api: Api, direction: Direction): Ajv {
  const name = `${api} ${direction}`;
  const known = instances.get(name);
  if (known) return known;
  const ajv = new Ajv({ strict: false, allErrors: true });
  for (const [format, expression] of Object.entries(FORMATS))
    ajv.addFormat(format, { type: 'string', validate: expression });
  if (api === 'calendar' && direction === 'request') ajv.addFormat('date-time', ZONED);
  for (const format of [
    'int32',
    'uint32',
    'double',
    'float',
    'binary',
    'uuid',
    'duration',
    'decimal',
    'uri',
  ])
    ajv.addFormat(format, true);
  const closing = new Closing(api, direction);
  const $defs = Object.fromEntries(
    Object.entries(documentOf(api).components.schemas).flatMap(([key, schema]) =>
      closing.definitions(key, schema),
    ),
  );
  ajv.addSchema({ $id: 'api', $defs });
  instances.set(name, ajv);
  return ajv;
}

/** Converts schemas of a document to closed JSON schemas. */
class Closing {
  readonly #api: Api;
  readonly #direction: Direction;

  constructor(api: Api, direction: Direction) {
    this.#api = api;
    this.#direction = direction;
  }

  /**
   * The definitions of one component. A type with subtypes has two: its own properties, and the
   * choice by `@odata.type`.
   */
  definitions(name: string, schema: Schema): [string, JsonSchema][] {
    const flat = this.#flattened(schema);
    const mapping = Object.entries(
      schema.discriminator?.mapping ?? flat.discriminator?.mapping ?? {},
    );
    const type = flat.properties?.['@odata.type'];
    const own = this.closed(
      type
        ? { ...flat, properties: { ...flat.properties, '@odata.type': { enum: [`#${name}`] } } }
        : flat,
    );
    if (mapping.length === 0) return [[name, own]];
    let choice: JsonSchema = { $ref: reference(`${name} itself`) };
    for (const [value, target] of mapping) {
      const condition = {
        properties: { '@odata.type': { const: value } },
        required: ['@odata.type'],
      };
      const subtype = { $ref: reference(nameIn(target)) };
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON schema
      choice = { if: condition, then: subtype, else: choice };
    }
    return [
      [`${name} itself`, own],
      [name, { type: 'object', ...choice }],
    ];
  }

  closed(schema: Schema): JsonSchema {
    if (schema.$ref) return { $ref: reference(nameIn(schema.$ref)) };
    if (schema.allOf) return this.closed(this.#flattened(schema));
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices) return this.#choice(choices, schema.nullable ?? false);
    const { properties, additionalProperties, items, required, nullable, ...rest } = schema;
    const result: JsonSchema = { ...rest };
    delete result['discriminator'];
    if (rest.type === 'any') delete result['type'];
    if (items) result['items'] = this.closed(items);
    if (properties) Object.assign(result, this.#closedProperties(properties, additionalProperties));
    else if (typeof additionalProperties === 'object')
      result['additionalProperties'] = this.closed(additionalProperties);
    const needed = required?.filter((name) => name !== '@odata.type') ?? [];
    if (needed.length > 0) result['required'] = needed;
    if (nullable && rest.type) result['type'] = [rest.type, 'null'];
    if (nullable && rest.enum) result['enum'] = [...rest.enum, null];
    return result;
  }

  #closedProperties(
    properties: Record<string, Schema>,
    additional: Schema | boolean | undefined,
  ): JsonSchema {
    const closed = Object.entries(properties).map(([name, property]): [string, JsonSchema] => {
      const schema = this.closed(property);
      // Google reads null in a request as an absent field; a PATCH clears a field with it.
      const isNullable = this.#direction === 'request' && this.#api !== 'graph';
      return [name, isNullable ? { anyOf: [schema, { type: 'null' }] } : schema];
    });
    return {
      type: 'object',
      properties: Object.fromEntries(closed),
      additionalProperties: typeof additional === 'object' ? this.closed(additional) : false,
      ...(this.#api === 'graph' && { patternProperties: { [ANNOTATIONS]: {} } }),
    };
  }

  /** Microsoft writes "or null" as an object that may be null, which would allow any object. */
  #choice(choices: Schema[], nullable: boolean): JsonSchema {
    const isNull = (choice: Schema) =>
      choice.nullable === true && choice.type === 'object' && !choice.properties;
    const anyOf = choices.map((choice) =>
      isNull(choice) ? { type: 'null' } : this.closed(choice),
    );
    return { anyOf: nullable ? [...anyOf, { type: 'null' }] : anyOf };
  }

  /** One object schema with the properties of all base types. */
  #flattened(schema: Schema): Schema {
    if (!schema.allOf) return schema;
    const { allOf, ...own } = schema;
    const result: Schema = { type: 'object', ...own };
    for (const part of allOf) {
      const base = part.$ref ? this.#component(part.$ref) : part;
      const { properties, required, discriminator, ...rest } = this.#flattened(base);
      Object.assign(result, rest);
      result.properties = { ...result.properties, ...properties };
      result.required = [...(result.required ?? []), ...(required ?? [])];
      // The choice between subtypes belongs to the type itself, not to those derived from it.
      if (!part.$ref && discriminator) result.discriminator = discriminator;
    }
    return result;
  }

  #component(target: string): Schema {
    return documentOf(this.#api).components.schemas[nameIn(target)] ?? {};
  }
}

function nameIn(target: string): string {
  return target.slice(target.lastIndexOf('/') + 1);
}

function reference(name: string): string {
  return `api#/$defs/${encodeURIComponent(name)}`;
}
