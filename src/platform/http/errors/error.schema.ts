import { applyDecorators } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import { z } from 'zod';

/** Error body of the main address. */
export const errorView = z
  .object({
    message: z.string(),
    type: z.enum(['invalid_request_error', 'api_error', 'provider_error', 'database_error']),
    missing_fields: z.array(z.string()).optional(),
    server_error: z.string().optional(),
    failures: z
      .record(z.string(), z.string())
      .optional()
      .describe('Recipients that did not get the message, each with the reason'),
    job_status_id: z.string().optional().describe('The job status that reports the result'),
  })
  .meta({
    id: 'Error',
    example: {
      message: "Couldn't find calendar 019aa1b2-0000-7000-8000-000000000001",
      type: 'invalid_request_error',
    },
  });
export type ErrorView = z.infer<typeof errorView>;

/** Error body of the integrations address. */
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
  400: 'The request is invalid; the message names the field',
  401: 'Missing, unknown, expired or revoked credentials',
  402: 'The provider refused the message, or some of its recipients (`failures`)',
  403: "Not allowed: missing scope, cancelled account, or the account's credentials are out of date",
  404: 'No such resource',
  409: 'The state of the resource does not allow the change',
  410: 'The cursor is older than the stored history: start again from the latest cursor',
  412: 'The resource has changed since it was read (If-Match); nothing was changed',
  413: 'The body is too large',
  429: 'Too many requests; see X-RateLimit-Limit and X-RateLimit-Reset (seconds)',
  501: 'This version does not support this part of the endpoint',
  503: 'A provider, a service or the database cannot be reached; if `message` says that what you sent may be stored, repeat a POST with the same Idempotency-Key',
};

/** Documents the common errors of a controller on the main address. */
export function ApiErrors(
  ...statuses: (keyof typeof DESCRIPTIONS)[]
): ClassDecorator & MethodDecorator {
  return applyDecorators(
    ...statuses.map((status) =>
      ApiResponse({ status, description: DESCRIPTIONS[status], standardSchema: errorView }),
    ),
  );
}

/** Documents the common errors of a controller on the integrations address. */
export function ApiBetaErrors(
  ...statuses: (keyof typeof DESCRIPTIONS)[]
): ClassDecorator & MethodDecorator {
  return applyDecorators(
    ...statuses.map((status) =>
      ApiResponse({ status, description: DESCRIPTIONS[status], standardSchema: betaErrorView }),
    ),
  );
}
