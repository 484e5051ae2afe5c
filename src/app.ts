import type { Server } from 'node:http';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import helmet from 'helmet';
import { Logger } from 'nestjs-pino';
import { AppModule, type AppOverrides } from './app.module.ts';
import type { AppConfig } from './config/app-config.ts';
import { jsonBodyParser } from './http/body-parser.ts';
import { Draining } from './http/http.module.ts';
import { createOpenApiDocument, serveOpenApi } from './http/openapi.ts';
import { servedPaths } from './http/surface.ts';

/**
 * Builds the whole application for a configuration; call `listen` next. Tests use the same function.
 * @throws {ConfigError} never: the configuration is already valid
 */
export async function createApp(
  config: AppConfig,
  overrides: AppOverrides = {},
): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(AppModule.register(config, overrides), {
    bodyParser: false,
    bufferLogs: true,
    abortOnError: false,
  });
  app.useLogger(app.get(Logger));
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(
    helmet({
      // Swagger UI's own page needs inline styles and data: images; everything else answers JSON.
      contentSecurityPolicy: {
        directives: {
          'style-src': ["'self'", "'unsafe-inline'"],
          'img-src': ["'self'", 'data:'],
          'upgrade-insecure-requests': null,
        },
      },
    }),
  );
  app.use(app.get(Draining).middleware);
  app.use(servedPaths(config));
  app.use(jsonBodyParser(config.maxBodyBytes));
  serveOpenApi(app, createOpenApiDocument(app));
  // Longer than the idle limits of common load balancers: the server must not be the first to close.
  (app.getHttpServer() as Server).keepAliveTimeout = 65_000;
  return app;
}
