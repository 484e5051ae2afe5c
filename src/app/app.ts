import type { Server } from 'node:http';
import type { Server as HttpsServer } from 'node:https';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import express, { type NextFunction, type Request, type Response } from 'express';
import { Logger } from 'nestjs-pino';
import { AppModule, type AppOverrides } from './app.module.ts';
import type { AppConfig } from '../platform/config/app-config.ts';
import { RequestContexts } from '../platform/database/request-contexts.ts';
import { serveAdminOpenApi, serveOpenApi } from './openapi/serve.ts';
import { aliases } from '../platform/http/aliases.ts';
import { answerClientErrors } from '../platform/http/errors/client-error.ts';
import { constantHeaders } from '../platform/http/responses/constant-headers.ts';
import { Draining } from '../platform/http/http.module.ts';
import { findClientAddress } from '../platform/http/listeners/forwarded-headers.ts';
import { sendPlainJson } from '../platform/http/responses/json-responses.ts';
import { inTurn } from '../platform/http/in-turn.ts';
import { assignRequestId, logRequests } from '../platform/http/logging.ts';
import { logConsole } from '../platform/logs/console-lines.ts';
import { countRequests } from '../platform/metrics/count-requests.ts';
import { TwoListeners } from '../platform/http/listeners/operator-listener.ts';
import { oneAtATime } from '../platform/http/listeners/pipelining.ts';
import { limitServer } from '../platform/http/listeners/server-limits.ts';
import { servedPaths } from '../platform/http/listeners/surface.ts';
import { renewCertificate, tlsOptions } from '../platform/http/listeners/tls.ts';
import { useErrorTexts } from '../platform/wire/error-texts.ts';

/**
 * Builds the whole application for a configuration, which must be valid. The caller then calls
 * `listen`. Tests use the same function.
 */
export async function createApp(
  config: AppConfig,
  overrides: AppOverrides = {},
): Promise<NestExpressApplication> {
  useErrorTexts();
  const instance = express();
  // Otherwise /MESSAGES would bypass everything that depends on the path: limits, surfaces and
  // error formats.
  instance.enable('case sensitive routing');
  instance.set('trust proxy', config.trustedProxies);
  sendPlainJson(instance);
  const listeners = new TwoListeners(instance, config.operator.port !== null);
  const app = await NestFactory.create<NestExpressApplication>(
    AppModule.register(config, overrides),
    listeners,
    {
      bodyParser: false,
      bufferLogs: true,
      abortOnError: false,
      ...(config.tls ? { httpsOptions: tlsOptions(config.tls) } : {}),
    },
  );
  app.useLogger(app.get(Logger));
  logConsole();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(
    inTurn(
      countRequests,
      oneAtATime(),
      aliases(),
      assignRequestId,
      constantHeaders(),
      findClientAddress(config.trustedProxies, config.operator.trustedProxies),
      alwaysModified,
      app.get(Draining).middleware,
      servedPaths(config),
    ),
  );
  if (config.roles.includes('api')) serveOpenApi(app);
  serveAdminOpenApi(app);
  // Not as middleware of Nest modules: Nest would match a path and keep a mark for each request.
  app.use(inTurn(app.get(RequestContexts).middleware, logRequests));
  for (const server of [app.getHttpServer() as Server, listeners.operators]) {
    if (!server) continue;
    limitServer(server);
    answerClientErrors(server);
    if (config.tls) renewCertificate(server as HttpsServer, config.tls);
  }
  return app;
}

/**
 * Ignores the ETags that clients already have. ETags are versions for edits: a message's status
 * changes without a new ETag, so a response must never be "not modified". ETags of calendar files
 * depend on their content and are kept.
 */
function alwaysModified(request: Request, _response: Response, next: NextFunction): void {
  if (!request.path.startsWith('/feeds/')) delete request.headers['if-none-match'];
  next();
}

/** Stops in order: reports not ready (`/health/ready`), finishes running work, then closes. */
export async function closeApp(app: NestExpressApplication): Promise<void> {
  app.get(Draining).begin();
  await app.close();
}
