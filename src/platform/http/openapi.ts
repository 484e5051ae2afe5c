import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';

/** The OpenAPI document of everything this program serves; committed as `openapi.json`. */
export function createOpenApiDocument(app: INestApplication): OpenAPIObject {
  const options = new DocumentBuilder()
    .setTitle('Carillon')
    .setDescription(
      'One HTTP API over mail and calendar accounts: read messages, send now or later, watch jobs, keep calendars and events, remind participants, hear of everything by webhook.',
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

/** The document as `openapi.json` holds it: keys sorted, so that only a change of the API changes the file. */
export function openApiText(document: OpenAPIObject): string {
  return `${JSON.stringify(sorted(document), null, 2)}\n`;
}

/** Serves the docs at `/docs` and the document at `/openapi.json`; the document is made when it is first asked for. */
export function serveOpenApi(app: INestApplication): void {
  SwaggerModule.setup('docs', app, () => createOpenApiDocument(app), {
    jsonDocumentUrl: 'openapi.json',
    customSiteTitle: 'Carillon API',
    // Or tokens would stay in the browser's local storage, where any script of this origin finds them.
    swaggerOptions: { persistAuthorization: false },
  });
}
