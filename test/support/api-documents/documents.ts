import fs from 'node:fs';
import { gunzipSync } from 'node:zlib';

/** Interfaces whose documents are kept beside this file (see the README there). */
export type Api = 'gmail' | 'calendar' | 'people' | 'graph';

/** The parts of a JSON schema that the documents use. */
export interface Schema {
  $ref?: string;
  type?: string;
  format?: string;
  pattern?: string;
  enum?: unknown[];
  nullable?: boolean;
  minimum?: number;
  maximum?: number;
  maxItems?: number;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  required?: string[];
  items?: Schema;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  discriminator?: { propertyName: string; mapping?: Record<string, string> };
}

/** A parameter of an operation. */
export interface Parameter {
  $ref?: string;
  name: string;
  in: string;
  required?: boolean;
  explode?: boolean;
  schema?: Schema;
}

interface Body {
  $ref?: string;
  content?: Record<string, { schema?: Schema }>;
}

interface Operation {
  parameters?: Parameter[];
  requestBody?: Body & { required?: boolean };
  responses: Record<string, Body>;
}

type PathItem = { parameters?: Parameter[] } & { [method: string]: Operation };

interface ApiDocument {
  paths: Record<string, PathItem>;
  components: Record<string, Record<string, unknown>> & { schemas: Record<string, Schema> };
}

/** An operation that was found for a request. */
export interface FoundOperation {
  /** Its path in the document. */
  template: string;
  /** Parameters of the query, references resolved. */
  query: Parameter[];
  /** Absent if the operation takes no body. */
  body?: Body & { required?: boolean };
  responses: Record<string, Body>;
}

const documents = new Map<Api, ApiDocument>();

/** Returns a kept document. Each is read once. */
export function documentOf(api: Api): ApiDocument {
  const known = documents.get(api);
  if (known) return known;
  const zipped = fs.readFileSync(new URL(`${api}.json.gz`, import.meta.url));
  const document = JSON.parse(gunzipSync(zipped).toString()) as ApiDocument;
  documents.set(api, document);
  return document;
}

/** Resolves a reference to a component, one level deep. */
export function resolved<T extends { $ref?: string }>(api: Api, value: T): T {
  if (!value.$ref) return value;
  const [, , kind = '', name = ''] = value.$ref.split('/');
  return documentOf(api).components[kind]?.[name] as T;
}

/**
 * Finds the operation of a request.
 * @param path path of the request with or without the prefix of its interface (`/calendar/v3`,
 *   `/v1.0`, `/upload`); Graph's `/users/{id}/…` is read as `/me/…`
 * @returns the operation, or the reason why there is none
 */
export function operationOf(api: Api, method: string, path: string): FoundOperation | string {
  const wanted = normalized(api, path);
  const matching = templatesOf(api).filter(({ pattern }) => pattern.test(wanted));
  if (matching.length === 0) return `no path of ${api} matches ${path}`;
  for (const { template } of matching) {
    const item = documentOf(api).paths[template];
    const operation = item?.[method.toLowerCase()];
    if (!item || !operation) continue;
    const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map((one) =>
      resolved(api, one),
    );
    const body = operation.requestBody && resolved(api, operation.requestBody);
    const query = parameters.filter((parameter) => parameter.in === 'query');
    return { template, query, ...(body && { body }), responses: operation.responses };
  }
  return `${matching[0]?.template} of ${api} has no method ${method}`;
}

interface Template {
  template: string;
  pattern: RegExp;
  /** Number of characters outside of parameters. The most specific path matches first. */
  literal: number;
}

const templates = new Map<Api, Template[]>();

function templatesOf(api: Api): Template[] {
  const known = templates.get(api);
  if (known) return known;
  const made = Object.keys(documentOf(api).paths).map((template) => {
    const path = normalized(api, template, true);
    const source = path
      .split(/(\{[^}]+\})/)
      .map((part) => {
        // A resource name of Google contains a slash, as in people/c1.
        if (part === '{resourceName}') return '[^/]+/[^/]+';
        return part.startsWith('{') ? '[^/]+' : part.replace(/[.$()]/g, '\\$&');
      })
      .join('');
    const literal = path.replace(/\{[^}]+\}/g, '').length;
    return { template, pattern: new RegExp(`^${source}$`), literal };
  });
  made.sort((a, b) => b.literal - a.literal);
  templates.set(api, made);
  return made;
}

/**
 * Both forms of a bound function of Graph (`microsoft.graph.delta()` and `delta`) become the short
 * form, and a mailbox named by its user becomes the signed-in user's.
 */
function normalized(api: Api, path: string, isTemplate = false): string {
  if (api === 'calendar') return path.replace(/^\/calendar\/v3(?=\/)/, '');
  if (api === 'gmail') return path.replace(/^(\/resumable)?\/upload(?=\/)/, '');
  if (api === 'people') return path;
  const short = path
    .replace(/^\/v1\.0(?=\/)/, '')
    .replace(/\/microsoft\.graph\./g, '/')
    .replace(/\(\)$/, '');
  return isTemplate ? short : short.replace(/^\/users\/[^/]+\/(?=.)/, '/me/');
}
