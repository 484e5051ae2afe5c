import {
  type CanActivate,
  type ExecutionContext,
  Inject,
  Injectable,
  Logger,
} from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants';
import { RouteParamtypes } from '@nestjs/common/internal';
import type { Request, Response } from 'express';
import type { ZodType } from 'zod';
import { InvalidInputError } from '../base/errors/domain-error.ts';
import { nearestName } from '../base/text/nearest-name.ts';
import { APP_CONFIG, type AppConfig } from '../config/app-config.ts';
import { isOauthQuery, queryFields } from '../wire/schema-fields.ts';

/** Response header that names the query parameters that had no effect. */
export const IGNORED_HEADER = 'X-Carillon-Ignored';

/** The client chooses the names, which can be many and long. */
const MOST_NAMES = 10;
const LONGEST_NAME = 40;
/** Each route logs this many names, so that no client can flood the log. */
const MOST_LOGGED = 20;
/** Official clients send these parameters of lists with reads of one object, too. */
const PAGE: ReadonlySet<string> = new Set(['limit', 'offset']);
/** Other names, such as a token without a name, may be secrets and are not logged. */
const LOGGED_NAME = /^[a-z][a-z0-9_.-]{0,29}$/i;

type RouteParameters = Readonly<Record<string, { schema?: ZodType; data?: unknown }>>;

/** The query parameters that a handler knows; `null` if it ignores others on purpose. */
function namesOf(controller: object, handler: string): ReadonlySet<string> | null {
  const parameters = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, handler) ??
    {}) as RouteParameters;
  const names = new Set<string>();
  for (const [key, { schema }] of Object.entries(parameters)) {
    if (!schema || !key.startsWith(`${RouteParamtypes.QUERY}:`)) continue;
    if (isOauthQuery(schema)) return null;
    for (const name of queryFields(schema).keys()) names.add(name);
  }
  return names;
}

function isReadOfOne({ method, params }: Request): boolean {
  return method === 'GET' && Object.keys(params).length > 0;
}

/** A name as a header and an error text can show it. */
const shown = (name: string): string =>
  encodeURIComponent(name.slice(0, LONGEST_NAME).toWellFormed());

/** `unred (did you mean unread?)` */
function withNearest(name: string, known: ReadonlySet<string>): string {
  const nearest = nearestName(name, known);
  return nearest === undefined ? shown(name) : `${shown(name)} (did you mean ${nearest}?)`;
}

/**
 * Reports query parameters that the endpoint does not know, and which therefore have no effect:
 * `?unred=true` would list everything. The response names them in `X-Carillon-Ignored` and in
 * `Warning` (RFC 7234 5.5), and the log names them once for each endpoint. With `STRICT_QUERY`, and
 * always in the admin API, such a request is refused with 400. Runs after authentication, before
 * anything else.
 */
@Injectable()
export class QueryGuard implements CanActivate {
  readonly #log = new Logger('Query');
  readonly #known = new Map<object, ReadonlySet<string> | null>();
  readonly #logged = new Map<object, Set<string>>();

  constructor(@Inject(APP_CONFIG) private readonly config: AppConfig) {}

  canActivate(context: ExecutionContext): boolean {
    const http = context.switchToHttp();
    const request = http.getRequest<Request>();
    if (!request.url.includes('?')) return true;
    const known = this.#knownOf(context);
    if (!known) return true;
    const unknown = Object.keys(request.query).filter(
      (name) => name && !known.has(name) && !(isReadOfOne(request) && PAGE.has(name)),
    );
    if (unknown.length === 0) return true;
    const named = unknown.slice(0, MOST_NAMES);
    // Operators act on what they have filtered.
    if (this.config.strictQuery || request.path.startsWith('/admin/')) throw refusal(named, known);
    const response = http.getResponse<Response>();
    response.setHeader(IGNORED_HEADER, named.map(shown).join(', '));
    const text = named.map((name) => withNearest(name, known)).join(', ');
    response.setHeader('Warning', `299 - "Unknown query parameters were ignored: ${text}"`);
    this.#logNew(context, named);
    return true;
  }

  #knownOf(context: ExecutionContext): ReadonlySet<string> | null {
    const handler = context.getHandler();
    let known = this.#known.get(handler);
    if (known === undefined) {
      known = namesOf(context.getClass(), handler.name);
      this.#known.set(handler, known);
    }
    return known;
  }

  #logNew(context: ExecutionContext, names: readonly string[]): void {
    const handler = context.getHandler();
    const logged = this.#logged.get(handler) ?? new Set<string>();
    this.#logged.set(handler, logged);
    const fresh = names.filter((name) => LOGGED_NAME.test(name) && !logged.has(name));
    for (const name of fresh.slice(0, MOST_LOGGED - logged.size)) {
      logged.add(name);
      this.#log.warn(
        `ignored the unknown query parameter ${name} of ${context.getClass().name}.${handler.name}; further requests with it are not logged`,
      );
    }
  }
}

function refusal(names: readonly string[], known: ReadonlySet<string>): InvalidInputError {
  const text = names.map((name) => withNearest(name, known)).join(', ');
  const allowed =
    known.size === 0
      ? 'this endpoint has no query parameters'
      : `known here: ${[...known].join(', ')}`;
  return new InvalidInputError(`Unknown query parameters: ${text}; ${allowed}`);
}
