import { SCOPES } from '../../platform/auth/access.decorators.ts';
import { ALIAS_OF } from '../../platform/http/endpoint.decorator.ts';
import { OTHER_SHAPES } from '../../platform/wire/response-shapes.ts';
import type { Schema } from './schemas.ts';

export interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  example?: unknown;
  schema?: Schema;
}

export interface Media {
  schema?: Schema;
  example?: unknown;
}

export interface ResponseOf {
  description: string;
  content?: Record<string, Media>;
  [extension: `x-${string}`]: unknown;
}

/** The parts of an operation of the document that are looked at or changed. */
export interface Operation {
  operationId: string;
  tags: string[];
  summary?: string;
  deprecated?: boolean;
  description?: string;
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content: Record<string, Media> };
  responses: Record<string, ResponseOf>;
  security?: unknown[];
  [ALIAS_OF]?: string;
  [SCOPES]?: string[];
}

const nameOf = (schema: Schema): string =>
  schema.$ref?.split('/').at(-1) ??
  (schema.items ? `an array of ${nameOf(schema.items)}` : (schema.type ?? ''));

/**
 * Leaves a response its usual shape, and lists the others with their conditions in the extension
 * `x-other-shapes` and in the description.
 */
export function separateShapes(response: ResponseOf): void {
  for (const media of Object.values(response.content ?? {})) {
    const schema = media.schema as (Schema & { [OTHER_SHAPES]?: string[] }) | undefined;
    const conditions = schema?.[OTHER_SHAPES];
    const [usual, ...others] = schema?.anyOf ?? [];
    if (!conditions || !usual) continue;
    media.schema = usual;
    const shapes = conditions.map((when, at) => ({ when, schema: others[at] ?? {} }));
    response[OTHER_SHAPES] = shapes;
    response.description = [
      response.description,
      ...shapes.map((shape) => `With ${shape.when}: ${nameOf(shape.schema)}`),
    ].join('. ');
  }
}

/** A body that is a message in MIME has no fields, although the JSON beside it has. */
const MIME_MESSAGE: Media = {
  schema: { type: 'string', description: 'A message that is composed already (RFC 5322)' },
  example: [
    'From: Ada <ada@sandbox.test>',
    'To: Bo <bo@example.test>',
    'Subject: Hello',
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    '',
    'Hello Bo',
    '',
  ].join('\r\n'),
};

/** Gives an operation the text that follows from its decorators, and its security. */
export function describeOperation(operation: Operation, otherAddress: string | undefined): void {
  const { content } = operation.requestBody ?? {};
  if (content?.['message/rfc822']) content['message/rfc822'] = MIME_MESSAGE;
  // Without this, tools would not know that the operation needs no credentials.
  operation.security ??= [];
  const scopes = operation[SCOPES] ?? [];
  const alias = operation[ALIAS_OF];
  const sentences = [
    operation.description,
    alias && `Another address of the operation \`${alias}\`.`,
    otherAddress && `Also served at \`${otherAddress}\`.`,
    scopes.length > 0 &&
      `The token needs ${scopes.length > 1 ? 'one of the scopes' : 'the scope'} ${scopes.map((scope) => `\`${scope}\``).join(', ')}.`,
  ];
  const text = sentences.filter(Boolean).join('\n\n');
  if (text) operation.description = text;
}
