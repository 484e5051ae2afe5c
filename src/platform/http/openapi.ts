import type { INestApplication } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { Express } from 'express';

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
  return SwaggerModule.createDocument(app, options, {
    operationIdFactory: (controller, method) =>
      `${controller.replace(/Controller$/, '')}_${method}`,
  });
}

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
  let created: OpenAPIObject | undefined;
  const document = (): OpenAPIObject => (created ??= createOpenApiDocument(app));
  SwaggerModule.setup('docs', app, document, {
    // Served below: the library would add a charset to the media type.
    raw: ['yaml'],
    customSiteTitle: 'Carillon API',
    // Otherwise tokens would stay in the browser's local storage, where any script of this
    // origin can read them.
    swaggerOptions: { persistAuthorization: false },
  });
  const express: Express = app.getHttpAdapter().getInstance();
  express.get('/openapi.json', (_request, response) => void response.json(document()));
}
