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
    .addBasicAuth({ type: 'http', scheme: 'basic', description: '`client_id:client_secret`' }, 'application')
    .addBasicAuth(
      { type: 'http', scheme: 'basic', description: 'Client secret as user name, empty password' },
      'applicationSecret',
    )
    .build();
  return SwaggerModule.createDocument(app, options, {
    operationIdFactory: (controller, method) => `${controller.replace(/Controller$/, '')}_${method}`,
  });
}

/** Serves the docs at `/docs` and the document at `/openapi.json`. */
export function serveOpenApi(app: INestApplication, document: OpenAPIObject): void {
  SwaggerModule.setup('docs', app, document, {
    jsonDocumentUrl: 'openapi.json',
    customSiteTitle: 'Carillon API',
    swaggerOptions: { persistAuthorization: true },
  });
}
