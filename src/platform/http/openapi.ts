import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';

/** The OpenAPI document of all endpoints; committed as `openapi.json`. */
export function createOpenApiDocument(app: INestApplication): OpenAPIObject {
  const options = new DocumentBuilder()
    .setTitle('Carillon')
    .setDescription(
      'One HTTP API over mail and calendar accounts: read messages, send them now or later, follow job statuses, manage calendars and events, remind participants, and get changes by webhook.',
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
export function serveOpenApi(app: INestApplication): void {
  SwaggerModule.setup('docs', app, () => createOpenApiDocument(app), {
    jsonDocumentUrl: 'openapi.json',
    customSiteTitle: 'Carillon API',
    // Otherwise tokens would stay in the browser's local storage, where any script of this
    // origin can read them.
    swaggerOptions: { persistAuthorization: false },
  });
}
