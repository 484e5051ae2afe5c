import type { NestExpressApplication } from '@nestjs/platform-express';
import { type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { Express } from 'express';
import { createAdminOpenApiDocument, createOpenApiDocument } from './document.ts';

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
