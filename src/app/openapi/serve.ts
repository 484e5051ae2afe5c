import type { NestExpressApplication } from '@nestjs/platform-express';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { Express, RequestHandler } from 'express';
import { VERSION } from '../../platform/base/version.ts';
import { docsPage } from './docs-page.ts';
import { createAdminOpenApiDocument, createOpenApiDocument } from './document.ts';

/**
 * Serves the API documentation at `/docs` and the document at `/openapi.json`, and leads browsers
 * from `/` to it. The document is created on the first request.
 */
export function serveOpenApi(app: NestExpressApplication): void {
  serveDocument(app, '', 'Carillon API', () => createOpenApiDocument(app));
  expressOf(app).get('/', start);
}

/** Serves the API for operators in the same way, below `/admin`. */
export function serveAdminOpenApi(app: NestExpressApplication): void {
  serveDocument(app, '/admin', 'Carillon admin API', () => createAdminOpenApiDocument(app));
}

const expressOf = (app: NestExpressApplication): Express => app.getHttpAdapter().getInstance();

/** Browsers get the documentation; programs get the addresses to go on with. */
const start: RequestHandler = (request, response) => {
  response.set('Vary', 'Accept');
  if (request.accepts(['json', 'html']) === 'html') return response.redirect(302, '/docs');
  response.json({
    name: 'Carillon',
    version: VERSION,
    documentation: '/docs',
    openapi: '/openapi.json',
    health: '/health/ready',
  });
};

function serveDocument(
  app: NestExpressApplication,
  below: '' | '/admin',
  title: string,
  create: () => OpenAPIObject,
): void {
  let created: OpenAPIObject | undefined;
  const express = expressOf(app);
  const path = `${below}/openapi.json`;
  const document = () => (created ??= create());
  const { page, tryPage, files } = docsPage(`${below}/docs`, { title, path, document });
  express.get(`${below}/docs`, page);
  express.get(`${below}/docs/try`, tryPage);
  express.get(`${below}/docs/assets/:file`, files);
  express.get(path, (_request, response) => void response.json(document()));
}
