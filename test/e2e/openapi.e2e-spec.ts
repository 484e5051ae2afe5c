import fs from 'node:fs';
import { ModulesContainer } from '@nestjs/core';
import request from 'supertest';
import { PUBLIC_ROUTE } from '../../src/platform/auth/access-rule.ts';
import {
  AccountGuard,
  ApplicationGuard,
  ApplicationSecretGuard,
} from '../../src/platform/auth/guards.ts';
import type { OpenAPIObject } from '@nestjs/swagger';
import { missingTexts } from '../../scripts/lib/openapi-texts.ts';
import {
  createAdminOpenApiDocument,
  createOpenApiDocument,
  openApiText,
} from '../../src/app/openapi/document.ts';
import { schemaName, WEBHOOKS } from '../../src/app/openapi/webhooks/webhook-operations.ts';
import { TRIGGERS } from '../../src/platform/webhooks/webhook-state.ts';
import { DocumentedApi } from '../support/examples/documented.ts';
import { OperatorGuard } from '../../src/operator/access/operator.guard.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

interface Media {
  schema?: object;
  example?: unknown;
  examples?: unknown;
}
interface Operation {
  operationId: string;
  tags?: string[];
  summary?: string;
  description?: string;
  'x-alias-of'?: string;
  security?: object[];
  parameters?: { name: string; schema?: object; description?: string; example?: unknown }[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<
    string,
    { content?: Record<string, Media>; description: string; headers?: Record<string, object> }
  >;
}

/** A handler of a controller, read from Nest's metadata. */
interface Handler {
  name: string;
  isPublic: boolean;
  isGuarded: boolean;
}

const GUARDS: readonly unknown[] = [
  AccountGuard,
  ApplicationGuard,
  ApplicationSecretGuard,
  OperatorGuard,
];
const VERBS = new Set(['get', 'post', 'put', 'patch', 'delete']);

function handlersOf(server: TestApp): Handler[] {
  const controllers = [...server.app.get(ModulesContainer).values()].flatMap((module) => [
    ...module.controllers.values(),
  ]);
  return controllers.flatMap(({ metatype }) => {
    if (!metatype) return [];
    const prototype = metatype.prototype as Record<string, unknown>;
    const read = (key: string, target: object): unknown =>
      Reflect.getMetadata(key, target) as unknown;
    return Object.getOwnPropertyNames(prototype).flatMap((name): Handler[] => {
      const handler = prototype[name];
      if (typeof handler !== 'function' || read('path', handler) === undefined) return [];
      const guards = [read('__guards__', metatype), read('__guards__', handler)].flat();
      return [
        {
          name: `${metatype.name}.${name}`,
          isPublic: [metatype, handler].some((target) => read(PUBLIC_ROUTE, target) === true),
          isGuarded: guards.some((guard) => GUARDS.includes(guard)),
        },
      ];
    });
  });
}

describe('OpenAPI document', () => {
  let server: TestApp;
  let document: OpenAPIObject;
  let adminDocument: OpenAPIObject;
  let operations: [string, Operation][];

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    document = createOpenApiDocument(server.app);
    adminDocument = createAdminOpenApiDocument(server.app);
    operations = Object.entries({ ...document.paths, ...adminDocument.paths }).flatMap(
      ([path, item]) =>
        Object.entries(item)
          .filter(([verb]) => VERBS.has(verb))
          .map(([verb, operation]): [string, Operation] => [
            `${verb.toUpperCase()} ${path}`,
            operation as unknown as Operation,
          ]),
    );
  });
  afterAll(() => server.close());

  /** The names of the operations that break a rule. */
  const breaking = (rule: (operation: Operation, name: string) => boolean): string[] =>
    operations.filter(([name, operation]) => !rule(operation, name)).map(([name]) => name);

  it('is the same in the repository and at /openapi.json', async () => {
    const text = openApiText(document);
    expect(fs.readFileSync('openapi.json', 'utf8') === text).toBe(true);
    const { body } = await request(server.url).get('/openapi.json').expect(200);
    expect(body).toEqual(JSON.parse(text));
  });

  it('describes the API for operators in a document of its own, below /admin', async () => {
    const text = openApiText(adminDocument);
    expect(fs.readFileSync('openapi-admin.json', 'utf8') === text).toBe(true);
    const { body } = await request(server.url).get('/admin/openapi.json').expect(200);
    expect(body).toEqual(JSON.parse(text));
    const { paths } = body as { paths: object };
    expect(Object.keys(paths).filter((path) => !path.startsWith('/admin/'))).toEqual([]);
    expect(Object.keys(document.paths).join()).not.toContain('/admin');
    const page = await request(server.url).get('/admin/docs').expect(200);
    expect(page.text).toContain('Carillon admin API');
  });

  it('is a page that a client without compression can read', async () => {
    const { headers, text } = await request(server.url).get('/docs').set('Accept-Encoding', '');
    expect(headers).not.toHaveProperty('content-encoding');
    expect(text).toMatch(/^<!doctype html>/);
  });

  it.each([
    ['/docs', 1],
    ['/docs/try', 4],
  ])('is shown at %s by a page that loads files of this server only', async (path, count) => {
    const page = await request(server.url).get(path).expect(200);
    const policy = page.headers['content-security-policy'] ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy.includes('script-src')).toBe(path === '/docs/try');
    const loaded = [...page.text.matchAll(/(?:src|href)="([^"]+\.(?:js|css))"/g)].map(
      ([, file = '']) => file,
    );
    expect(loaded).toHaveLength(count);
    const texts: string[] = [];
    for (const file of loaded) {
      expect(file).toMatch(/^\/docs\/assets\//);
      const { headers, text } = await request(server.url).get(file).expect(200);
      expect(headers['content-type']).toMatch(/^text\/(javascript|css)/);
      expect(headers['cache-control']).toContain('immutable');
      texts.push(text);
    }
    await request(server.url).get('/docs/assets/package.json').expect(404);
    expect(texts.join('').includes('persistAuthorization: false')).toBe(path === '/docs/try');
  });

  it('leads browsers from / to the documentation, and programs to all addresses', async () => {
    const get = () => request(server.url).get('/');
    const browser = await get()
      .set('Accept', 'text/html,application/xhtml+xml,*/*;q=0.8')
      .expect(302);
    expect(browser.headers['location']).toBe('/docs');
    const { body } = await get().set('Accept', '*/*').expect(200);
    expect(body).toMatchObject({
      name: 'Carillon',
      documentation: '/docs',
      openapi: '/openapi.json',
    });
  });

  it('gives every operation either a credential check or the mark that it is public', () => {
    const handlers = handlersOf(server);
    expect(handlers.length).toBeGreaterThan(10);
    expect(
      handlers.filter(({ isPublic, isGuarded }) => isPublic === isGuarded).map(({ name }) => name),
    ).toEqual([]);
  });

  it('gives every operation a tag, a summary and the schema of its response', () => {
    expect(breaking(({ tags }) => tags?.length === 1)).toEqual([]);
    expect(breaking(({ summary }) => Boolean(summary))).toEqual([]);
    const describesAnswer = ({ responses }: Operation): boolean =>
      Object.entries(responses).some(
        ([status, { content }]) =>
          // A redirect has no body to describe.
          status === '302' ||
          (status.startsWith('2') &&
            Object.values(content ?? {}).some(({ schema }) => schema !== undefined)),
      );
    expect(breaking(describesAnswer)).toEqual([]);
  });

  it('describes every response, including each error', () => {
    expect(
      breaking(({ responses }) => Object.values(responses).every(({ description }) => description)),
    ).toEqual([]);
  });

  it('names the headers of the responses of the outbox', () => {
    const named = (name: string, status: string) =>
      Object.keys(operations.find(([one]) => one === name)?.[1].responses[status]?.headers ?? {});
    expect(named('POST /v2/outbox', '202')).toEqual(['ETag', 'Idempotent-Replayed']);
    for (const verb of ['GET', 'PATCH', 'PUT', 'DELETE'])
      expect(named(`${verb} /v2/outbox/{job_status_id}`, '200')).toEqual(['ETag']);
  });

  it('describes every request body, with an example', () => {
    const resolve = (schema: object | undefined): Record<string, unknown> => {
      const reference = (schema as { $ref?: string } | undefined)?.$ref;
      const name = reference?.split('/').at(-1);
      const schemas = { ...adminDocument.components?.schemas, ...document.components?.schemas };
      return (name ? schemas[name] : schema) as Record<string, unknown>;
    };
    expect(
      breaking(({ requestBody }) =>
        Object.values(requestBody?.content ?? {}).every(
          ({ schema, example, examples }) =>
            schema !== undefined &&
            (example ?? examples ?? resolve(schema)['example']) !== undefined,
        ),
      ),
    ).toEqual([]);
  });

  it('gives client ids that look like real ones', () => {
    const isClientId = /^[0-9a-z]{25}$/;
    expect(
      breaking(({ parameters = [] }) =>
        parameters.every(
          ({ name, example }) => name !== 'client_id' || isClientId.test(String(example)),
        ),
      ),
    ).toEqual([]);
  });

  it('describes every parameter and field, and gives those of requests an example', () => {
    expect([document, adminDocument].flatMap((one) => missingTexts(openApiText(one)))).toEqual([]);
  });

  it('names a field that has neither a description nor an example, and where to write them', () => {
    const copy = structuredClone(document);
    const folder = copy.components?.schemas?.['CreateFolder'] as { properties: object };
    folder.properties = { display_name: { type: 'string' } };
    const table = 'Write one in its schema or in src/app/openapi/field-texts.ts';
    expect(missingTexts(openApiText(copy))).toEqual([
      `field CreateFolder.display_name has no description. ${table}`,
      `field CreateFolder.display_name has no example. ${table}`,
    ]);
  });

  it('describes the content of a job status by the schema of the outbox', () => {
    expect(document.components?.schemas?.['JobStatus']).toMatchObject({
      properties: { original_data: { $ref: '#/components/schemas/OutboxOriginalData' } },
    });
  });

  it('has the webhook of each trigger, with an example that its schema allows', () => {
    const webhooks = (document as unknown as Record<string, Record<string, unknown>>)[WEBHOOKS];
    expect(Object.keys(webhooks ?? {})).toEqual(TRIGGERS);
    const api = new DocumentedApi(document);
    const schemas = document.components?.schemas ?? {};
    for (const trigger of TRIGGERS) {
      const name = schemaName(trigger);
      const { example } = schemas[name] as { example?: object };
      expect(example).toMatchObject({ deltas: [{ type: trigger }] });
      expect([name, api.faultsOfSchema(name, example)]).toEqual([name, []]);
      expect(webhooks?.[trigger]).toMatchObject({
        post: { parameters: [{ name: 'carillon-replay', in: 'header' }] },
      });
      const other = JSON.parse(JSON.stringify(example).replaceAll(trigger, 'x.y')) as unknown;
      expect(api.faultsOfSchema(name, other)).not.toEqual([]);
    }
  });

  it('gives every response one usual shape, and names the others with their condition', () => {
    const hasChoices = ({ responses }: Operation) =>
      Object.entries(responses).some(
        ([status, { content = {} }]) =>
          status.startsWith('2') &&
          Object.values(content).some(({ schema }) => schema && 'anyOf' in schema),
      );
    // Its shape follows the body: one text, or a list of messages.
    expect(breaking((operation) => !hasChoices(operation))).toEqual(['PUT /neural/sentiment']);
    const list = operations.find(([name]) => name === 'GET /messages')?.[1].responses['200'];
    expect(list).toMatchObject({
      content: {
        'application/json': {
          schema: { type: 'array', items: { $ref: '#/components/schemas/Message' } },
        },
      },
      'x-other-shapes': [
        { when: '`view=ids`', schema: { $ref: '#/components/schemas/Ids' } },
        { when: '`view=count`', schema: { $ref: '#/components/schemas/Count' } },
      ],
    });
  });

  it('marks operations that are other addresses of an operation, and names it', () => {
    const ids = operations.map(([, { operationId }]) => operationId);
    const aliases = operations.filter(([, operation]) => operation['x-alias-of']);
    expect(aliases.length).toBeGreaterThan(8);
    expect(aliases.filter(([, alias]) => !ids.includes(alias['x-alias-of'] ?? ''))).toEqual([]);
    const saysSo = ({ summary = '' }: Operation) => /same as/i.test(summary);
    expect(breaking((one) => !saysSo(one) || one['x-alias-of'] !== undefined)).toEqual([]);
    const outbox = operations.filter(([name]) => name.includes(' /v2/outbox'));
    for (const [name, { description }] of outbox)
      expect(description).toContain(`\`${name.split(' ')[1]?.replace('/v2', '')}\``);
  });

  it('names every operation once, in one form', () => {
    const ids = operations.map(([, { operationId }]) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.filter((id) => !/^[A-Z][A-Za-z0-9]+_[a-z][A-Za-z0-9]+$/.test(id))).toEqual([]);
  });

  it('describes every tag, and uses each', () => {
    const used = new Set(operations.flatMap(([, { tags = [] }]) => tags));
    const tags = [document, adminDocument].flatMap((one) => one.tags ?? []);
    const described = tags.filter(({ description }) => description).map(({ name }) => name);
    expect([...new Set(described)].sort()).toEqual([...used].sort());
  });

  it('has the name and the version of this release, its license and a server', () => {
    const { version } = JSON.parse(fs.readFileSync('package.json', 'utf8')) as { version: string };
    expect(document.info).toMatchObject({ title: 'Carillon API', version });
    const client = JSON.parse(fs.readFileSync('clients/typescript/package.json', 'utf8')) as object;
    expect(client).toMatchObject({ version });
    expect(document.info.license?.name).toBe('Apache-2.0');
    expect(document.servers).toHaveLength(1);
  });

  it('says of every operation which credentials it needs, also if it needs none', () => {
    expect(breaking(({ security }) => security !== undefined)).toEqual([]);
    const publicOnes = handlersOf(server).filter(({ isPublic }) => isPublic);
    const open = operations.filter(([, { security }]) => security?.length === 0);
    expect(open.length).toBeGreaterThan(5);
    expect(open.length).toBeLessThanOrEqual(publicOnes.length);
    expect(JSON.stringify(document)).not.toMatch(/jwt/i);
  });

  it('names the credentials of every operation that needs credentials', () => {
    const schemes = {
      ...document.components?.securitySchemes,
      ...adminDocument.components?.securitySchemes,
    };
    const known = ({ security = [] }: Operation): boolean =>
      security.flatMap((choice) => Object.keys(choice)).every((name) => name in schemes);
    expect(breaking(known)).toEqual([]);
    expect(Object.keys(schemes).sort()).toEqual([
      'accessToken',
      'accessTokenAsUser',
      'application',
      'applicationSecret',
      'operatorToken',
    ]);
  });
});
