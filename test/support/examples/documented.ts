import { Ajv, type ValidateFunction } from 'ajv';
import type { OpenAPIObject } from '@nestjs/swagger';
import { operationsOf } from '../../../src/app/openapi/operations-of.ts';
import type { Schema } from '../../../src/app/openapi/schemas.ts';
import { OTHER_SHAPES } from '../../../src/platform/wire/response-shapes.ts';

/** A parameter of an operation with its example. */
export interface DocumentedParameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  example: unknown;
}

const NULL = { enum: [null] };

interface Media {
  schema?: Schema;
  example?: unknown;
}
interface RawOperation {
  parameters?: (DocumentedParameter & { required?: boolean })[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, { content?: Record<string, Media>; [OTHER_SHAPES]?: OtherShape[] }>;
  security?: Record<string, unknown>[];
}
interface OtherShape {
  when: string;
  schema: Schema;
}

/** One operation of a document, as a reader who tries its examples sees it. */
export interface DocumentedOperation {
  /** For example `POST /calendars/{id}`. */
  name: string;
  method: string;
  path: string;
  /** Name of the first security scheme, or `undefined` if the operation needs no credentials. */
  credentials: string | undefined;
  parameters: DocumentedParameter[];
  /** Examples of the body by media type. */
  bodies: [type: string, example: unknown][];
}

/** An OpenAPI document, its examples, and a check of responses against its schemas. */
export class DocumentedApi {
  readonly operations: ReadonlyMap<string, DocumentedOperation>;
  readonly #document: OpenAPIObject;
  readonly #ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
  readonly #responses = new Map<string, RawOperation['responses']>();
  readonly #validators = new Map<Schema, ValidateFunction>();

  constructor(document: OpenAPIObject) {
    this.#document = document;
    this.#ajv.addSchema({ $id: 'document', components: pointing(document.components) });
    this.operations = new Map(
      operationsOf(document).map(({ path, verb, operation }) => {
        const name = `${verb.toUpperCase()} ${path}`;
        const raw = operation as unknown as RawOperation;
        this.#responses.set(name, raw.responses);
        const { parameters = [], requestBody, security = [] } = raw;
        return [
          name,
          {
            name,
            method: verb.toUpperCase(),
            path,
            credentials: Object.keys(security[0] ?? {})[0],
            parameters: parameters.map((one) => ({ ...one, required: one.required === true })),
            bodies: Object.entries(requestBody?.content ?? {}).map(([type, media]) => [
              type,
              media.example ?? this.#resolved(media.schema)?.example,
            ]),
          },
        ];
      }),
    );
  }

  /**
   * What is wrong with a response: a status that is no documented success, another media type, or
   * a body that the schema does not allow. Empty if nothing is wrong.
   * @param query the query of the request, which decides the shape
   */
  faultsOf(
    name: string,
    query: URLSearchParams,
    { status, type, text }: { status: number; type: string; text: string },
  ): string[] {
    const documented = this.#responses.get(name)?.[status];
    if (!documented || status >= 400) return [`status ${status}: ${text.slice(0, 300)}`];
    const types = Object.keys(documented.content ?? {});
    if (types.length === 0) return [];
    if (text !== '' && !types.includes(type) && !types.includes('*/*'))
      return [`media type ${type}, not ${types.join(' or ')}`];
    if (!types.includes('application/json')) return [];
    const usual = documented.content?.['application/json']?.schema;
    const others = (documented[OTHER_SHAPES] ?? []).filter(({ when }) => asks(query, when));
    const schemas = others.length > 0 ? others.map(({ schema }) => schema) : usual ? [usual] : [];
    const body: unknown = text === '' ? '' : JSON.parse(text);
    const complaints = schemas.map((schema) => this.#complaints(schema, body));
    return complaints.some((one) => one.length === 0) ? [] : complaints.flat();
  }

  /** What is wrong with a value by a schema of the document. Empty if nothing is wrong. */
  faultsOfSchema(name: string, value: unknown): string[] {
    const schema = this.#document.components?.schemas?.[name] as Schema | undefined;
    return schema ? this.#complaints(schema, value) : [`no schema ${name}`];
  }

  #complaints(schema: Schema, body: unknown): string[] {
    const validate = this.#validators.get(schema) ?? this.#ajv.compile(pointing(schema));
    this.#validators.set(schema, validate);
    if (validate(body)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message = '' }) => `${instancePath || 'body'} ${message}`,
    );
  }

  #resolved(schema: Schema | undefined): Schema | undefined {
    const name = schema?.$ref?.split('/').at(-1);
    return name === undefined ? schema : (this.#document.components?.schemas?.[name] as Schema);
  }
}

/** Whether a query contains a parameter of a condition such as "`view=ids`". */
function asks(query: URLSearchParams, when: string): boolean {
  const named = [...when.matchAll(/`(\w+)=(\w+)`/g)];
  return named.length > 0 && named.every(([, name = '', value]) => query.get(name) === value);
}

/**
 * The schema with references into the whole document, which Ajv knows as `document`, and with null
 * where `nullable` stands beside a reference.
 */
function pointing<T>(schema: T): T {
  return JSON.parse(JSON.stringify(schema), (key, value: unknown) => {
    if (key === '$ref') return `document${String(value)}`;
    const { nullable, allOf, ...rest } = (value ?? {}) as Schema;
    return nullable && allOf ? { ...rest, type: undefined, anyOf: [{ allOf }, NULL] } : value;
  }) as T;
}
