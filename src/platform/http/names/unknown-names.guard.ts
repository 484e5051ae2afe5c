import {
  type CanActivate,
  createParamDecorator,
  type ExecutionContext,
  Inject,
  Injectable,
  Logger,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import { InvalidInputError } from '../../base/errors/domain-error.ts';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.ts';
import { type ReportUnknown, type UnknownField, unknownFields } from '../../wire/body-fields.ts';
import type { Refused } from '../../wire/schema-fields.ts';
import { type KnownNames, knownNames } from './known-names.ts';
import {
  isMisspelt,
  MOST_NAMES,
  refusalOf,
  shownName,
  type UnknownName,
  warningOf,
} from './unknown-names.ts';

/** Response header that names the query parameters and fields that had no effect. */
export const IGNORED_HEADER = 'X-Carillon-Ignored';

/** Far more unknown fields than clients send. Comparing 100 000 of them would take seconds. */
const MOST_COMPARED = 500;
/** Each route logs this many names, so that no client can flood the log. */
const MOST_LOGGED = 20;
/** Official clients send these parameters of lists with reads of one object, too. */
const PAGE: ReadonlySet<string> = new Set(['limit', 'offset']);
/** Other names, such as a token without a name, may be secrets and are not logged. */
const LOGGED_NAME = /^[a-z][a-z0-9_.-]{0,29}$/i;

const reporters = new WeakMap<Request, ReportUnknown>();

/**
 * A `ReportUnknown` for handlers with `Endpoint`. It is for fields that the schema of the body
 * cannot know: those of a form, and settings whose names depend on the provider.
 */
export const UnknownFields = createParamDecorator(
  (_: unknown, context: ExecutionContext): ReportUnknown => {
    const report = reporters.get(context.switchToHttp().getRequest<Request>());
    return report ?? (() => undefined);
  },
);

const isRefused = (unknown: UnknownName, refused: Refused | undefined): boolean =>
  unknown.kind === 'field' &&
  (refused === 'all' || (refused === 'misspelt' && isMisspelt(unknown)));

function isReadOfOne({ method, params }: Request): boolean {
  return method === 'GET' && Object.keys(params).length > 0;
}

function unknownParameters(request: Request, known: readonly string[]): UnknownName[] {
  return Object.keys(request.query)
    .filter((name) => name && !known.includes(name) && !(isReadOfOne(request) && PAGE.has(name)))
    .map((name) => ({ kind: 'query parameter', place: [], name, known }));
}

function hasFields(body: unknown): body is object {
  if (typeof body !== 'object' || body === null) return false;
  for (const _name in body) return true;
  return false;
}

/**
 * Reports query parameters and fields of the body that the endpoint does not know, and which
 * therefore have no effect: `?unred=true` would list everything. The response names them in
 * `X-Carillon-Ignored` and in `Warning` (RFC 7234 5.5), and the log names them once for each
 * endpoint. With `STRICT_REQUESTS`, and always in the admin API, such a request is refused with
 * 400. Runs after authentication, before anything else.
 */
@Injectable()
export class UnknownNamesGuard implements CanActivate {
  readonly #log = new Logger('Request');
  readonly #known = new Map<object, KnownNames | null>();
  readonly #logged = new Map<object, Set<string>>();

  constructor(@Inject(APP_CONFIG) private readonly config: AppConfig) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<Request>();
    const body: unknown = request.body;
    const hasQuery = request.url.includes('?');
    const hasBody = hasFields(body);
    // A form or a message, which the handler reads.
    const isUnread = body === undefined;
    if (!hasQuery && !hasBody && !isUnread) return true;
    const known = this.#knownOf(context);
    if (!known) return true;
    const unknown = hasQuery ? unknownParameters(request, known.parameters) : [];
    if (hasBody && known.body) {
      const most = known.refused ? MOST_COMPARED : MOST_NAMES;
      for (const field of unknownFields(body, known.body, most))
        unknown.push({ kind: 'field', ...field });
    }
    reporters.set(request, (fields) => this.#addFields(context, known, unknown, fields));
    if (unknown.length > 0) this.#refuseOrReport(context, unknown, known.refused);
    return true;
  }

  /** Reports fields that the handler has found, next to what was found before. */
  #addFields(
    context: ExecutionContext,
    { tolerated, refused }: KnownNames,
    unknown: UnknownName[],
    fields: readonly UnknownField[],
  ): void {
    const before = unknown.length;
    const names = new Set(unknown.filter(({ kind }) => kind === 'field').map(shownName));
    for (const field of fields) {
      const name: UnknownName = { kind: 'field', ...field };
      if (tolerated.has(withoutIndexes(name)) || names.has(shownName(name))) continue;
      names.add(shownName(name));
      unknown.push(name);
    }
    if (unknown.length > before) this.#refuseOrReport(context, unknown, refused);
  }

  /** @throws {InvalidInputError} if the request is to be refused */
  #refuseOrReport(context: ExecutionContext, unknown: UnknownName[], refused?: Refused): void {
    const http = context.switchToHttp();
    const isStrict =
      this.config.strictRequests ||
      // Operators act on what they have filtered.
      http.getRequest<Request>().path.startsWith('/admin/');
    const refusals = isStrict ? unknown : unknown.filter((name) => isRefused(name, refused));
    if (refusals.length > 0) throw new InvalidInputError(refusalOf(refusals.slice(0, MOST_NAMES)));
    const names = unknown.slice(0, MOST_NAMES);
    const response = http.getResponse<Response>();
    response.setHeader(IGNORED_HEADER, names.map(shownName).join(', '));
    response.setHeader('Warning', warningOf(names));
    this.#logNew(context, names);
  }

  #knownOf(context: ExecutionContext): KnownNames | null {
    const handler = context.getHandler();
    let known = this.#known.get(handler);
    if (known === undefined) {
      known = knownNames(context.getClass(), handler.name);
      this.#known.set(handler, known);
    }
    return known;
  }

  #logNew(context: ExecutionContext, names: readonly UnknownName[]): void {
    const handler = context.getHandler();
    const logged = this.#logged.get(handler) ?? new Set<string>();
    this.#logged.set(handler, logged);
    const fresh = names
      .filter(({ name }) => LOGGED_NAME.test(name))
      .map((name) => `${name.kind} ${withoutIndexes(name)}`)
      .filter((text) => !logged.has(text));
    for (const text of fresh.slice(0, MOST_LOGGED - logged.size)) {
      logged.add(text);
      this.#log.warn(
        `ignored the unknown ${text} of ${context.getClass().name}.${handler.name}; further requests with it are not logged`,
      );
    }
  }
}

/** `participants.emial`: every entry of a list is alike. */
const withoutIndexes = ({ place, name }: UnknownName): string =>
  [...place.filter((part) => !/^\d+$/.test(part)), name].join('.');
