import { applyDecorators, HttpCode, HttpStatus, UseGuards } from '@nestjs/common';
import { ApiExtension, ApiOperation, ApiResponse } from '@nestjs/swagger';
import type { ZodType } from 'zod';
import { UnknownNamesGuard } from './names/unknown-names.guard.ts';
import { expectShape } from './responses/response-shape.ts';

/** Key in an operation of the document: the operation that it is another address of. */
export const ALIAS_OF = 'x-alias-of';

/** Describes the response of one handler. */
export interface EndpointOptions {
  /** One line for the API documentation. */
  summary: string;
  /** Further text for the API documentation (markdown). */
  description?: string;
  /** Shape of the response. It is documented, and only its keys leave the server. */
  response: ZodType;
  /** Default: the names of the controller and the handler. */
  operationId?: string;
  /** The operation of which this one is another address: its `operationId`. */
  aliasOf?: string;
  /** True if the documentation advises against the endpoint. */
  deprecated?: boolean;
  /** Default 200, also for creation. */
  status?: HttpStatus;
  /** Response headers specific to this endpoint, with their descriptions. */
  headers?: Readonly<Record<string, string>>;
}

/**
 * Sets status, documentation and response whitelist of a handler, and has unknown names in requests
 * reported. Every handler of the API needs exactly one.
 * Keys that are not in `response` are removed from the response, so a mapper cannot leak a column.
 */
export function Endpoint(options: EndpointOptions): MethodDecorator {
  const status = options.status ?? HttpStatus.OK;
  return applyDecorators(
    HttpCode(status),
    UseGuards(UnknownNamesGuard, expectShape(options.response)),
    ApiOperation({
      summary: options.summary,
      description: options.description,
      ...(options.operationId ? { operationId: options.operationId } : {}),
      ...(options.deprecated ? { deprecated: true } : {}),
    }),
    ...(options.aliasOf ? [ApiExtension(ALIAS_OF, options.aliasOf)] : []),
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
