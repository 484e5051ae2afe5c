import fs from 'node:fs';
import { ModulesContainer } from '@nestjs/core';
import request from 'supertest';
import { PUBLIC_ROUTE } from '../../src/platform/auth/access-rule.ts';
import {
  AccountGuard,
  ApplicationGuard,
  ApplicationSecretGuard,
} from '../../src/platform/auth/guards.ts';
import {
  createAdminOpenApiDocument,
  createOpenApiDocument,
  openApiText,
} from '../../src/platform/http/openapi.ts';
import { OperatorGuard } from '../../src/operator/access/operator.guard.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

interface Media {
  schema?: object;
  example?: unknown;
  examples?: unknown;
}
interface Operation {
  tags?: string[];
  summary?: string;
  security?: object[];
  parameters?: { name: string; in: string; schema?: object }[];
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
  let operations: [string, Operation][];

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    const documents = [createOpenApiDocument(server.app), createAdminOpenApiDocument(server.app)];
    const paths = Object.assign({}, ...documents.map((document) => document.paths)) as object;
    operations = Object.entries(paths).flatMap(([path, item]) =>
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
    const text = openApiText(createOpenApiDocument(server.app));
    expect(fs.readFileSync('openapi.json', 'utf8') === text).toBe(true);
    const { body } = await request(server.url).get('/openapi.json').expect(200);
    expect(body).toEqual(JSON.parse(text));
  });

  it('describes the API for operators in a document of its own, below /admin', async () => {
    const text = openApiText(createAdminOpenApiDocument(server.app));
    expect(fs.readFileSync('openapi-admin.json', 'utf8') === text).toBe(true);
    const { body } = await request(server.url).get('/admin/openapi.json').expect(200);
    expect(body).toEqual(JSON.parse(text));
    const { paths } = body as { paths: object };
    expect(Object.keys(paths).filter((path) => !path.startsWith('/admin/'))).toEqual([]);
    expect(Object.keys(createOpenApiDocument(server.app).paths).join()).not.toContain('/admin');
    const page = await request(server.url).get('/admin/docs').expect(200);
    expect(page.text).toContain('Carillon admin API');
  });

  it('is shown at /docs by a page that stores no tokens in the browser', async () => {
    const script = await request(server.url).get('/docs/swagger-ui-init.js').expect(200);
    expect(script.text).toMatch(/"persistAuthorization": false/);
  });

  it('is shown at /docs', async () => {
    const page = await request(server.url).get('/docs').expect(200);
    expect(page.text).toContain('Carillon API');
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
    const document = createOpenApiDocument(server.app);
    const resolve = (schema: object | undefined): Record<string, unknown> => {
      const reference = (schema as { $ref?: string } | undefined)?.$ref;
      const name = reference?.split('/').at(-1);
      return (name ? document.components?.schemas?.[name] : schema) as Record<string, unknown>;
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

  it('describes every path and query parameter', () => {
    expect(
      breaking(({ parameters = [] }) => parameters.every(({ schema }) => schema !== undefined)),
    ).toEqual([]);
  });

  it('names the credentials of every operation that needs credentials', () => {
    const schemes = {
      ...createOpenApiDocument(server.app).components?.securitySchemes,
      ...createAdminOpenApiDocument(server.app).components?.securitySchemes,
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
