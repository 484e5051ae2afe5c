import type { INestApplication } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { Express } from 'express';
import { isOperatorPath } from './surface.ts';

/** The OpenAPI document of all endpoints; committed as `openapi.json`. */
export function createOpenApiDocument(app: INestApplication): OpenAPIObject {
  const options = new DocumentBuilder()
    .setTitle('Carillon')
    .setDescription(
      [
        'One HTTP API over mail and calendar accounts: read messages, send them now or later, follow job statuses, manage calendars and events, remind participants, and get changes by webhook.',
        'If a query parameter that is not a list is repeated, its last value counts. A query parameter that an endpoint does not know has no effect: the response names it in the headers `X-Carillon-Ignored` (names, percent-encoded, separated by commas) and `Warning` (with the nearest known name). A server with `STRICT_QUERY=true` refuses it with 400.',
        '`/outbox` is another address of `/v2/outbox`, with all of its methods and paths.',
      ].join('\n\n'),
    )
    .setVersion('2.5')
    .addBearerAuth(
      { type: 'http', scheme: 'bearer', description: 'Access token of an account' },
      'accessToken',
    )
    .addSecurity('accessTokenAsUser', {
      type: 'http',
      scheme: 'basic',
      description: 'Access token as user name, empty password',
    })
    .addBasicAuth(
      { type: 'http', scheme: 'basic', description: '`client_id:client_secret`' },
      'application',
    )
    .addBasicAuth(
      { type: 'http', scheme: 'basic', description: 'Client secret as user name, empty password' },
      'applicationSecret',
    )
    .build();
  return documentOf(app, options, (path) => !isOperatorPath(path));
}

/** The OpenAPI document of the API for operators; committed as `openapi-admin.json`. */
export function createAdminOpenApiDocument(app: INestApplication): OpenAPIObject {
  const options = new DocumentBuilder()
    .setTitle('Carillon for operators')
    .setDescription(
      'What those who run the server see and do, over all applications and accounts: find jobs, steer them, and read the audit log. It is served at `OPERATOR_PORT`, never at the public address of a production server.',
    )
    .setVersion('1')
    .addBearerAuth(
      {
        type: 'http',
        scheme: 'bearer',
        description: 'Token of an operator: `carillon operator token create`',
      },
      'operatorToken',
    )
    .build();
  return documentOf(app, options, isOperatorPath);
}

function documentOf(
  app: INestApplication,
  options: Omit<OpenAPIObject, 'paths'>,
  includes: (path: string) => boolean,
): OpenAPIObject {
  const whole = SwaggerModule.createDocument(app, options, {
    operationIdFactory: (controller, method) =>
      `${controller.replace(/Controller$/, '')}_${method}`,
  });
  const paths = Object.fromEntries(Object.entries(whole.paths).filter(([path]) => includes(path)));
  const all = whole.components?.schemas ?? {};
  const used = new Set<string>();
  const follow = (part: unknown): void => {
    for (const [, name = ''] of JSON.stringify(part).matchAll(REFERENCE)) {
      if (used.has(name)) continue;
      used.add(name);
      follow(all[name] ?? {});
    }
  };
  follow(paths);
  const schemas = Object.fromEntries(Object.entries(all).filter(([name]) => used.has(name)));
  return { ...whole, paths, components: { ...whole.components, schemas } };
}

const REFERENCE = /"#\/components\/schemas\/([^"]+)"/g;

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  );
}

/**
 * The text of `openapi.json`. Keys are sorted, so that the file changes only if the API changes.
 */
export function openApiText(document: OpenAPIObject): string {
  return `${JSON.stringify(sorted(document), null, 2)}\n`;
}

/**
 * Serves the API documentation at `/docs` and the document at `/openapi.json`. The document is
 * created on the first request.
 */
export function serveOpenApi(app: NestExpressApplication): void {
  serveDocument(app, '', 'Carillon API', () => createOpenApiDocument(app));
}

/** Serves the API for operators in the same way, below `/admin`. */
export function serveAdminOpenApi(app: NestExpressApplication): void {
  serveDocument(app, 'admin/', 'Carillon admin API', () => createAdminOpenApiDocument(app));
}

function serveDocument(
  app: NestExpressApplication,
  below: '' | 'admin/',
  title: string,
  create: () => OpenAPIObject,
): void {
  let created: OpenAPIObject | undefined;
  const document = (): OpenAPIObject => (created ??= create());
  SwaggerModule.setup(`${below}docs`, app, document, {
    // Served below: the library would add a charset to the media type.
    raw: ['yaml'],
    customSiteTitle: title,
    // Otherwise tokens would stay in the browser's local storage, where any script of this
    // origin can read them.
    swaggerOptions: { persistAuthorization: false },
  });
  const express: Express = app.getHttpAdapter().getInstance();
  express.get(`/${below}openapi.json`, (_request, response) => void response.json(document()));
}
