import request from 'supertest';

/** The part of a JSON schema that the tests use. */
export interface Schema {
  $ref?: string;
  type?: string;
  nullable?: boolean;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  enum?: unknown[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  example?: unknown;
}

interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
}

/** One operation of the served OpenAPI document. */
export interface Operation {
  /** For example `POST /calendars/{id}`. */
  name: string;
  method: string;
  path: string;
  pathParameters: string[];
  queryParameters: string[];
  /** Names of the security schemes. Empty if the operation needs no credentials. */
  security: string[];
  /** Schema of the request body, or `undefined` if the operation has no body. */
  body: Schema | undefined;
}

interface RawOperation {
  parameters?: Parameter[];
  security?: Record<string, unknown>[];
  requestBody?: { content: Record<string, { schema: Schema }> };
}

interface RawDocument {
  paths: Record<string, Record<string, RawOperation>>;
  components: { schemas: Record<string, Schema> };
}

export type JsonType = 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object';

/** The JSON type of a value. */
export function jsonTypeOf(value: unknown): JsonType {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value as JsonType;
}

/** The OpenAPI document that the server under test serves. */
export class ApiDocument {
  readonly operations: Operation[];
  readonly #schemas: Record<string, Schema>;

  private constructor(document: RawDocument) {
    this.#schemas = document.components.schemas;
    this.operations = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([verb, raw]) => this.#operation(path, verb.toUpperCase(), raw)),
    );
  }

  static async of(url: string): Promise<ApiDocument> {
    const { body } = await request(url).get('/openapi.json').expect(200);
    return new ApiDocument(body as RawDocument);
  }

  #operation(path: string, method: string, raw: RawOperation): Operation {
    const named = (where: Parameter['in']) =>
      (raw.parameters ?? []).filter((parameter) => parameter.in === where).map(({ name }) => name);
    return {
      name: `${method} ${path}`,
      method,
      path,
      pathParameters: named('path'),
      queryParameters: named('query'),
      security: (raw.security ?? []).flatMap((choice) => Object.keys(choice)),
      body: raw.requestBody?.content['application/json']?.schema,
    };
  }

  /** The schema that a `$ref` or a one-element `allOf` stands for. */
  resolve(schema: Schema): Schema {
    if (schema.$ref) return this.resolve(this.#schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {});
    const [only, ...others] = schema.allOf ?? [];
    return only && others.length === 0
      ? { ...this.resolve(only), ...(schema.nullable ? { nullable: true } : {}) }
      : schema;
  }

  /** The JSON types that the schema allows, or `undefined` if it allows all. */
  typesOf(schema: Schema): Set<JsonType> | undefined {
    const resolved = this.resolve(schema);
    const choices = resolved.anyOf ?? resolved.oneOf;
    const types = new Set<JsonType>();
    if (resolved.nullable) types.add('null');
    for (const choice of choices ?? [])
      for (const type of this.typesOf(choice) ?? []) types.add(type);
    if (resolved.type)
      types.add((resolved.type === 'integer' ? 'number' : resolved.type) as JsonType);
    return resolved.type || choices ? types : undefined;
  }

  /**
   * Yields every property of `value` that the schema defines, including those of nested objects and
   * of the first element of each array.
   */
  *fieldsOf(
    schema: Schema,
    value: unknown,
    parents: readonly string[] = [],
  ): Generator<{ path: readonly string[]; schema: Schema; required: boolean }> {
    const resolved = this.resolve(schema);
    const choice = (resolved.oneOf ?? resolved.anyOf)?.find((each) => this.#describes(each, value));
    if (choice) yield* this.fieldsOf(choice, value, parents);
    if (Array.isArray(value)) {
      if (resolved.items && value.length > 0)
        yield* this.fieldsOf(resolved.items, value[0], [...parents, '0']);
      return;
    }
    if (typeof value !== 'object' || value === null) return;
    for (const [name, property] of Object.entries(resolved.properties ?? {})) {
      const path = [...parents, name];
      yield { path, schema: property, required: resolved.required?.includes(name) ?? false };
      yield* this.fieldsOf(property, (value as Record<string, unknown>)[name], path);
    }
  }

  /**
   * Names of all fields that a body of the schema may have, such as `to[].email`. Fields nested
   * deeper than eight levels are left out.
   */
  namesOf(schema: Schema, prefix = '', depth = 0): Set<string> {
    const { properties = {}, items, anyOf = [], oneOf = [], allOf = [] } = this.resolve(schema);
    const names = new Set<string>();
    if (depth > 8) return names;
    const inner = (part: Schema, place: string) => {
      for (const name of this.namesOf(part, place, depth + 1)) names.add(name);
    };
    for (const choice of [...anyOf, ...oneOf, ...allOf]) inner(choice, prefix);
    if (items) inner(items, `${prefix}[]`);
    for (const [name, property] of Object.entries(properties)) {
      const place = prefix ? `${prefix}.${name}` : name;
      names.add(place);
      inner(property, place);
    }
    return names;
  }

  #describes(schema: Schema, value: unknown): boolean {
    const { properties, ...resolved } = this.resolve(schema);
    if (this.typesOf(resolved)?.has(jsonTypeOf(value)) === false) return false;
    return Object.entries(properties ?? {}).every(
      ([name, property]) =>
        !property.enum || property.enum.includes((value as Record<string, unknown> | null)?.[name]),
    );
  }
}
