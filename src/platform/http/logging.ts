import type { NextFunction, Request, Response } from 'express';
import { type Params, PinoLogger } from 'nestjs-pino';
import type { Options } from 'pino-http';
import { newId } from '../base/ids/ids.ts';
import { escapedJson } from '../base/text/plain-text.ts';
import { monotonicMs } from '../base/time/clock.ts';
import { currentAnswer, duringAnswer } from '../base/large-answers.ts';
import type { AppConfig } from '../config/app-config.ts';
import type { LogDestination } from '../config/log-destination.ts';
import { callerOf } from './caller.ts';

const REQUEST_ID = /^[A-Za-z0-9._-]{1,100}$/;

/**
 * Names every request, before anything can refuse it: with the caller's request id where it is a sane one, else with a
 * new one. It is answered in `X-Request-Id` and stands in every line of the log.
 */
export function nameRequest(request: Request, response: Response, next: NextFunction): void {
  const given = request.headers['x-request-id'];
  request.id = typeof given === 'string' && REQUEST_ID.test(given) ? given : newId();
  response.setHeader('X-Request-Id', request.id);
  next();
}

/** Paths that are a key by themselves, and paths in which a caller may name a token by itself instead of by its id. */
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
 * Writes one line for each request when its answer has ended, and has every line written meanwhile name the request. Checks
 * of health leave none.
 */
export function logRequests(request: Request, response: Response, next: NextFunction): void {
  if (request.path.startsWith('/health')) return next();
  const begunMs = monotonicMs();
  response.once('close', () => {
    const { statusCode: status, writableFinished } = response;
    const fields = {
      req: requestFields(request),
      ...callerFields(request),
      res: { status },
      responseTime: Math.round(monotonicMs() - begunMs),
    };
    const text = writableFinished ? 'request completed' : 'request aborted';
    if (status >= 500) PinoLogger.root.error(fields, text);
    else PinoLogger.root.info(fields, text);
  });
  duringAnswer(response, next);
}

/**
 * JSON logs by allow-list: a request is logged with id, method, path (no query: it may hold codes), principal,
 * status and time. Headers and bodies never are.
 * @param logTo where the lines go; null: standard output
 */
export function loggerOptions(config: AppConfig, logTo: LogDestination | null = null): Params {
  const options = pinoOptions(config);
  return {
    // `logRequests` does it: a logger of its own for each request, as the library makes, costs more than the line.
    forRoutes: [],
    pinoHttp: logTo ? [options, logTo] : options,
  };
}

function pinoOptions(config: AppConfig): Options {
  return {
    level: config.logLevel,
    mixin() {
      const request = (currentAnswer() as Response | undefined)?.req;
      return request ? { req: requestFields(request) } : {};
    },
    hooks: {
      // pino escapes C0 only; C1 and overrides of direction would reach the terminal of whoever reads the log.
      streamWrite: escapedJson,
      logMethod(args, method) {
        // Left alone, pino would put the error's whole message into the line once more.
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
      // The library's own expect whole requests and answers.
      req: (fields: unknown) => fields,
      res: (fields: unknown) => fields,
      err: serializeError,
    },
  };
}

/** Where errors of the database begin to quote rows: `detail` of the server, which the ORM puts into the message. */
const DETAIL = '\n - detail:';
/** Class 22, data exception: the message quotes the value. */
const DATA_EXCEPTION = /^22/;

/** The message without what was in the row or the value it is about: people's mail, addresses and sealed secrets. */
function messageOf(error: Error): string {
  const { code } = error as { code?: unknown };
  const message = error.message.split(DETAIL, 1)[0] ?? '';
  return typeof code === 'string' && DATA_EXCEPTION.test(code)
    ? message.replace(/: ".*/s, '')
    : message;
}

/** Type, message, code and stack; nothing an error object may carry along (queries, rows, request options). */
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
