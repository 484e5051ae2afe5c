import type { ErrorObject } from 'ajv';
import { type Direction, validatorOf } from './closed-schemas.ts';
import { type Api, operationOf, resolved, type Schema } from './documents.ts';
import { queryProblems } from './query.ts';

export type { Api } from './documents.ts';

/** A request as it was received. */
export interface RequestToCheck {
  method: string;
  /** Without the query. */
  path: string;
  query?: URLSearchParams;
  /** The parsed JSON; undefined for no body, and for a body that is no JSON, such as MIME. */
  body?: unknown;
}

/** An answer as it was sent. */
export interface AnswerToCheck {
  method: string;
  /** Path of the request, without the query. */
  path: string;
  status: number;
  /** The parsed JSON; undefined for no body, and for a body that is no JSON. */
  body?: unknown;
}

/**
 * Checks a request against the document of its interface: path, method, names and types of the
 * query's parameters, and the body, in which unknown fields are errors.
 * @returns one sentence for each violation; empty if the request is as documented
 */
export function checkedRequest(api: Api, request: RequestToCheck): string[] {
  const { method, path, query, body } = request;
  const operation = operationOf(api, method, path);
  if (typeof operation === 'string') return [`Request: ${operation}`];
  const problems = queryProblems(api, operation, query ?? new URLSearchParams());
  if (body !== undefined) {
    const schema = jsonSchema(api, operation.body);
    if (!schema) problems.push('the operation takes no JSON body');
    else {
      const key = `${method} ${operation.template}`;
      const wanted = api === 'graph' ? inBothCases(schema) : schema;
      problems.push(...bodyProblems(api, 'request', key, wanted, body));
    }
  }
  return problems.map((problem) => `Request ${method} ${path}: ${problem}`);
}

/**
 * Checks an answer against the document of its interface. Unknown fields are errors. Errors of
 * Google, which its documents do not describe, are checked against the form of its manual.
 * @returns one sentence for each violation; empty if the answer is as documented
 */
export function checkedAnswer(api: Api, answer: AnswerToCheck): string[] {
  const { method, path, status, body } = answer;
  const named = (problems: string[]) =>
    problems.map((problem) => `Answer ${status} to ${method} ${path}: ${problem}`);
  if (status >= 400 && api !== 'graph')
    return named(bodyProblems(api, 'answer', 'error', GOOGLE_ERROR, body));
  const operation = operationOf(api, method, path);
  if (typeof operation === 'string') return status >= 400 ? [] : named([operation]);
  const found = responseFor(operation.responses, status);
  if (!found) return named(['the operation documents no such status']);
  const schema = jsonSchema(api, resolved(api, found));
  if (!schema) return named(body === undefined ? [] : ['the operation answers without JSON']);
  const isEmpty = status === 202 || status === 204 || status === 304;
  if (body === undefined) return named(isEmpty ? [] : ['the body is missing']);
  const kind = status >= 400 ? 'error' : `${method} ${operation.template}`;
  return named(bodyProblems(api, 'answer', kind, schema, body));
}

/** The exact status, its class, or any documented status of its class (202 for a 204). */
function responseFor<T>(responses: Record<string, T>, status: number): T | undefined {
  const digit = String(status)[0] ?? '';
  const exact = responses[status] ?? responses[`${digit}XX`];
  return exact ?? Object.entries(responses).find(([key]) => key.startsWith(digit))?.[1];
}

interface Body {
  content?: Record<string, { schema?: Schema }>;
}

/** Google's documents list one schema under every type of a message, and none under JSON. */
function jsonSchema(api: Api, body: Body | undefined): Schema | null {
  const entries = Object.entries(body?.content ?? {});
  const [, media] = entries.find(([type]) => type.includes('json')) ?? entries[0] ?? [];
  const schema = media?.schema;
  if (!schema || schema.format === 'binary') return null;
  return api !== 'graph' && schema.type === 'string' ? null : schema;
}

/** Graph accepts parameters of an action with a small or a capital first letter. */
function inBothCases(schema: Schema): Schema {
  if (schema.$ref || !schema.properties) return schema;
  const both = Object.entries(schema.properties).flatMap(([name, property]) => [
    [name, property] as const,
    [name.charAt(0).toLowerCase() + name.slice(1), property] as const,
  ]);
  return { ...schema, properties: Object.fromEntries(both) };
}

function bodyProblems(
  api: Api,
  direction: Direction,
  key: string,
  schema: Schema,
  body: unknown,
): string[] {
  const validate = validatorOf(api, direction, key, schema);
  if (validate(body)) return [];
  const texts = (validate.errors ?? []).filter(isTelling).map(sentence);
  return [...new Set(texts)];
}

/** Keywords that only say that one of their parts failed; the part has its own error. */
function isTelling({ keyword, params }: ErrorObject): boolean {
  if (keyword === 'if' || keyword === 'anyOf') return false;
  return !(keyword === 'type' && params['type'] === 'null');
}

function sentence({ instancePath, message, params }: ErrorObject): string {
  const { additionalProperty, allowedValues } = params as Record<string, unknown>;
  const where = instancePath ? `the body's ${instancePath.slice(1)}` : 'the body';
  if (typeof additionalProperty === 'string')
    return `${where} has the unknown field ${additionalProperty}`;
  const allowed = Array.isArray(allowedValues) ? ` (${allowedValues.join(', ')})` : '';
  return `${where} ${message}${allowed}`;
}

const TEXT: Schema = { type: 'string' };
/** The form of an error of Google's interfaces. */
const GOOGLE_ERROR: Schema = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message'],
      properties: {
        code: { type: 'integer' },
        message: TEXT,
        status: TEXT,
        errors: {
          type: 'array',
          items: {
            type: 'object',
            required: ['message', 'domain', 'reason'],
            properties: {
              message: TEXT,
              domain: TEXT,
              reason: TEXT,
              location: TEXT,
              locationType: TEXT,
              extendedHelp: TEXT,
            },
          },
        },
        details: { type: 'array', items: { type: 'object' } },
      },
    },
  },
};
