import { applyDecorators, HttpCode, HttpStatus, SerializeOptions } from '@nestjs/common';
import { ApiOperation, ApiResponse } from '@nestjs/swagger';
import type { ZodType } from 'zod';

/** What one handler answers. */
export interface EndpointOptions {
  /** One line for the docs. */
  summary: string;
  /** Further text for the docs (markdown). */
  description?: string;
  /** Shape of the answer: documented, and the only keys that leave the server. */
  response: ZodType;
  /** Default: names of the controller and the handler. */
  operationId?: string;
  /** Whether the docs advise against it. */
  deprecated?: boolean;
  /** Default 200; the API answers 200 also for creation (api facts 1.6). */
  status?: HttpStatus;
  /** Headers of the answer that are its own, with what they say. */
  headers?: Readonly<Record<string, string>>;
}

/**
 * Status, documentation and response whitelist of a handler; exactly one per handler. Keys that are not in
 * `response` are removed before the answer is written, so a mapper cannot leak a column.
 */
export function Endpoint(options: EndpointOptions): MethodDecorator {
  const status = options.status ?? HttpStatus.OK;
  return applyDecorators(
    HttpCode(status),
    SerializeOptions({ schema: options.response }),
    ApiOperation({
      summary: options.summary,
      description: options.description,
      ...(options.operationId ? { operationId: options.operationId } : {}),
      ...(options.deprecated ? { deprecated: true } : {}),
    }),
    ApiResponse({
      status,
      description: 'Success',
      standardSchema: options.response,
      ...(options.headers ? { headers: documented(options.headers) } : {}),
    }),
  );
}

function documented(headers: Readonly<Record<string, string>>) {
  return Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [
      name,
      { description, schema: { type: 'string' as const } },
    ]),
  );
}
