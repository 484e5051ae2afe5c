import type { NextFunction, Request, Response } from 'express';
import { type Params, PinoLogger } from 'nestjs-pino';
import type { Options } from 'pino-http';
import { newId } from '../base/ids/ids.ts';
import { escapedJson } from '../base/text/plain-text.ts';
import { monotonicMs } from '../base/time/clock.ts';
import { currentResponse, duringResponse } from '../base/large-responses.ts';
import type { AppConfig } from '../config/app-config.ts';
import type { LogDestination } from '../config/log-destination.ts';
import { inSpan, traceIds } from '../tracing/spans.ts';
import { callerOf } from './caller.ts';
import { beginHttpSpan, endHttpSpan } from './http-spans.ts';

const REQUEST_ID = /^[A-Za-z0-9._-]{1,100}$/;

/**
 * Gives every request an id, before any other middleware can refuse the request. The client's
 * `X-Request-Id` is used if it is valid; otherwise a new id is created. The response returns the id
 * in `X-Request-Id`, and every log line about the request contains it.
 */
export function assignRequestId(request: Request, response: Response, next: NextFunction): void {
  const given = request.headers['x-request-id'];
  request.id = typeof given === 'string' && REQUEST_ID.test(given) ? given : newId();
  response.setHeader('X-Request-Id', request.id);
  next();
}

/**
 * Paths that contain a secret: feed addresses, and token paths in which a caller may have put the
 * token itself instead of its id.
 */
const SECRET_PATH = /^(\/+feeds\/|\/+connect\/+grants\/+[^/]+\/+tokens\/+(?![0-9a-f-]{36}$)).*/i;

const requestFields = (request: Request) => ({
  id: request.id,
  method: request.method,
  path: (request.originalUrl ?? request.url).split('?', 1)[0]?.replace(SECRET_PATH, '$1…'),
});

const callerFields = (request: Request) => {
  const caller = callerOf(request);
  if (!caller) return {};
  const { applicationId: application, accountId: account } = caller;
  return account === undefined ? { application } : { application, account };
};

/**
 * Writes one log line for each request when its response has ended. Every line logged meanwhile
 * names the request. Health checks are not logged.
 */
export function logRequests(request: Request, response: Response, next: NextFunction): void {
  if (request.path.startsWith('/health')) return next();
  const begunMs = monotonicMs();
  const span = beginHttpSpan(request);
  response.once('close', () => {
    const { statusCode: status, writableFinished } = response;
    const fields = {
      req: requestFields(request),
      ...callerFields(request),
      res: { status },
      responseTime: Math.round(monotonicMs() - begunMs),
      ...(span ? traceIds(span) : {}),
    };
    if (span) endHttpSpan(span, request, response);
    const text = writableFinished ? 'request completed' : 'request aborted';
    if (status >= 500) PinoLogger.root.error(fields, text);
    else PinoLogger.root.info(fields, text);
  });
  duringResponse(response, span ? () => inSpan(span, next) : next);
}

/**
 * Settings of the JSON log. Only listed fields are logged: request id, method, path (without the
 * query, which may contain codes), application, account, status and time. Headers and bodies are
 * never logged.
 * @param logTo destination of the lines; `null` = standard output
 */
export function loggerOptions(config: AppConfig, logTo: LogDestination | null = null): Params {
  const options = pinoOptions(config);
  return {
    // `logRequests` does this. The library's own logger for each request costs more than the log
    // line.
    forRoutes: [],
    pinoHttp: logTo ? [options, logTo] : options,
  };
}

const INFO = 30;
/** Parts of Nest that write a line for each module and each route when a process starts. */
const WIRING = new Set(['InstanceLoader', 'RoutesResolver', 'RouterExplorer']);

/** Whether a line is about the wiring of the program, which only its developers read. */
function isAboutWiring(fields: unknown, level: number): boolean {
  const { context } = (fields ?? {}) as { context?: unknown };
  return level === INFO && typeof context === 'string' && WIRING.has(context);
}

function pinoOptions(config: AppConfig): Options {
  return {
    level: config.logLevel,
    mixin() {
      const request = (currentResponse() as Response | undefined)?.req;
      return { ...(request ? { req: requestFields(request) } : {}), ...traceIds() };
    },
    hooks: {
      // pino escapes only C0 characters. C1 characters and direction overrides would reach the
      // reader's terminal.
      streamWrite: escapedJson,
      logMethod(args, method, level) {
        if (isAboutWiring(args[0] as unknown, level) && !this.isLevelEnabled('debug')) return;
        // Without a text, pino would put the error's whole message into the line a second time.
        const [first, text] = args as unknown[];
        const error =
          first instanceof Error ? first : (first as { err?: unknown } | null | undefined)?.err;
        if (text === undefined && error instanceof Error) {
          method.apply(this, [first as object, messageOf(error)]);
        } else {
          method.apply(this, args);
        }
      },
    },
    wrapSerializers: false,
    serializers: {
      // The library's own serializers expect whole request and response objects.
      req: (fields: unknown) => fields,
      res: (fields: unknown) => fields,
      err: serializeError,
    },
  };
}

/**
 * From here on, database errors quote rows. The ORM appends the server's `detail` to the message.
 */
const DETAIL = '\n - detail:';
/** SQLSTATE class 22, data exception: the message quotes the value. */
const DATA_EXCEPTION = /^22/;

/**
 * The message without the quoted row or value, which may be users' mail, addresses or encrypted
 * secrets.
 */
function messageOf(error: Error): string {
  const { code } = error as { code?: unknown };
  const message = error.message.split(DETAIL, 1)[0] ?? '';
  return typeof code === 'string' && DATA_EXCEPTION.test(code)
    ? message.replace(/: ".*/s, '')
    : message;
}

/**
 * Keeps type, message, code, stack and causes of an error. Drops all other properties, such as
 * queries, rows and request options.
 */
export function serializeError(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message, stack = '', cause } = error;
  const { code } = error as { code?: unknown };
  const shown = messageOf(error);
  return {
    type: name,
    message: shown,
    code,
    stack: shown === message ? stack : stack.replaceAll(message, shown),
    ...(cause ? { cause: serializeError(cause) } : {}),
  };
}
