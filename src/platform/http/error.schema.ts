import { applyDecorators } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import { z } from 'zod';

/** Error body of the main address (api facts 1.6). */
export const errorView = z
  .object({
    message: z.string(),
    type: z.enum(['invalid_request_error', 'api_error', 'provider_error', 'database_error']),
    missing_fields: z.array(z.string()).optional(),
    server_error: z.string().optional(),
    failures: z
      .record(z.string(), z.string())
      .optional()
      .describe('Recipients that have not got the message, with the reasons'),
    job_status_id: z.string().optional().describe('The job that says what becomes of it'),
  })
  .meta({
    id: 'Error',
    example: {
      message: "Couldn't find calendar 019aa1b2-0000-7000-8000-000000000001",
      type: 'invalid_request_error',
    },
  });
export type ErrorView = z.infer<typeof errorView>;

/** Error body of the integrations address (api facts 1.7). */
export const betaErrorView = z
  .object({
    success: z.literal(false),
    error: z.object({ type: z.string(), message: z.string() }),
    request_id: z.string(),
  })
  .meta({
    id: 'IntegrationsError',
    example: {
      success: false,
      error: { type: 'api.not_found_error', message: "Couldn't find integration google" },
      request_id: '019aa1b2-0000-7000-8000-000000000001',
    },
  });
export type BetaErrorView = z.infer<typeof betaErrorView>;

const DESCRIPTIONS: Record<number, string> = {
  400: 'The request is wrong; the message names the field',
  401: 'Missing, unknown, expired or revoked credentials',
  402: 'The provider refused the message, or some of its recipients (`failures`)',
  403: 'Not allowed: missing scope, cancelled account, credentials of the account out of date',
  404: 'No such resource',
  409: 'The state of the resource forbids the change',
  410: 'The cursor is older than the history that is kept: start anew from the latest one',
  412: 'The resource has changed since (If-Match); nothing was changed',
  413: 'The body is too large',
  429: 'Too many requests; see X-RateLimit-Limit and X-RateLimit-Reset (seconds)',
  501: 'This part of the endpoint is not there in this version',
  503: 'The provider or service that has to be asked cannot be reached',
};

/** Documents the usual errors of a controller of the main address. */
export function ApiErrors(
  ...statuses: (keyof typeof DESCRIPTIONS)[]
): ClassDecorator & MethodDecorator {
  return applyDecorators(
    ...statuses.map((status) =>
      ApiResponse({ status, description: DESCRIPTIONS[status], standardSchema: errorView }),
    ),
  );
}

/** Documents the usual errors of a controller of the integrations address. */
export function ApiBetaErrors(
  ...statuses: (keyof typeof DESCRIPTIONS)[]
): ClassDecorator & MethodDecorator {
  return applyDecorators(
    ...statuses.map((status) =>
      ApiResponse({ status, description: DESCRIPTIONS[status], standardSchema: betaErrorView }),
    ),
  );
}
