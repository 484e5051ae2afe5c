import fs from 'node:fs';
import type { Action } from './groups/group.ts';

/** The parts of a schema of the OpenAPI document that the command uses. */
export interface Schema {
  $ref?: string;
  type?: string;
  enum?: readonly unknown[];
  description?: string;
  example?: unknown;
  required?: readonly string[];
  properties?: Readonly<Record<string, Schema>>;
  additionalProperties?: unknown;
  items?: Schema;
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
  allOf?: readonly Schema[];
}

export interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  example?: unknown;
  schema?: Schema;
}

interface Media {
  schema?: Schema;
  example?: unknown;
  examples?: Readonly<Record<string, { value?: unknown }>>;
}

export interface Operation {
  description?: string;
  parameters?: readonly (Parameter & { $ref?: string })[];
  requestBody?: { required?: boolean; content: Readonly<Record<string, Media>> };
}

/** The file of this version: in the root of the project, and in `dist`. */
const FILE = new URL('../../../openapi.json', import.meta.url);

const anonymous = (path: string): string => path.replaceAll(/\{[^}]*\}/g, '{}');

/** Last part of a reference such as `#/components/schemas/Event`. */
const nameOf = (reference: string): string => reference.split('/').at(-1) ?? '';

/**
 * The OpenAPI document of this version. It is read when it is needed: parsing it takes 15 ms.
 */
export class ApiDocument {
  readonly #paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly #schemas: Readonly<Record<string, Schema>>;
  readonly #parameters: Readonly<Record<string, Parameter>>;

  constructor(text: string) {
    const { paths, components } = JSON.parse(text) as {
      paths: Record<string, Record<string, Operation>>;
      components: { schemas: Record<string, Schema>; parameters?: Record<string, Parameter> };
    };
    this.#paths = paths;
    this.#schemas = components.schemas;
    this.#parameters = components.parameters ?? {};
  }

  static read(): ApiDocument {
    return new ApiDocument(fs.readFileSync(FILE, 'utf8'));
  }

  /** @param path with placeholders, such as `/events/{id}`; their names do not matter */
  operation(verb: string, path: string): Operation | undefined {
    const wanted = anonymous(path);
    const [, item] =
      Object.entries(this.#paths).find(([known]) => anonymous(known) === wanted) ?? [];
    return item?.[verb.toLowerCase()];
  }

  /** The operation of a method. @param isOne whether an optional id is given */
  operationOf({ verb, path }: Pick<Action, 'verb' | 'path'>, isOne = false): Operation | undefined {
    return this.operation(verb, isOne && !path.includes('{id}') ? `${path}/{id}` : path);
  }

  /** Parameters of the query. */
  filters(operation: Operation | undefined): Parameter[] {
    return (operation?.parameters ?? [])
      .map((one) => (one.$ref === undefined ? one : (this.#parameters[nameOf(one.$ref)] ?? one)))
      .filter((one) => one.in === 'query');
  }

  body(operation: Operation | undefined): Schema | undefined {
    return operation?.requestBody?.content['application/json']?.schema;
  }

  /** An example of the body; `undefined` if the document has none. */
  bodyExample(operation: Operation | undefined): unknown {
    const media = operation?.requestBody?.content['application/json'];
    if (!media) return undefined;
    const [named] = Object.values(media.examples ?? {});
    const inSchema = this.choices(media.schema ?? {}).find(({ example }) => example !== undefined);
    return media.example ?? named?.value ?? inSchema?.example;
  }

  /** The schema itself, its alternatives and parts, and the schemas that they name by `$ref`. */
  choices(schema: Schema): Schema[] {
    const { $ref, anyOf = [], oneOf = [], allOf = [] } = schema;
    const named = $ref === undefined ? undefined : this.#schemas[nameOf($ref)];
    const parts = [...(named ? [named] : []), ...anyOf, ...oneOf, ...allOf];
    return [schema, ...parts.flatMap((part) => this.choices(part))];
  }
}
