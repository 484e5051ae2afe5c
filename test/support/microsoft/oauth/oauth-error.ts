import { randomUUID } from 'node:crypto';
import type { Json, StubAnswer } from '../http/types.ts';

/** An error that Microsoft Entra answers with. `code` is the number after AADSTS. */
export class EntraError extends Error {
  readonly error: string;
  readonly code: number;
  readonly status: number;
  readonly suberror: string | undefined;

  constructor(
    error: string,
    code: number,
    text: string,
    more: { status?: number; suberror?: string } = {},
  ) {
    super(`AADSTS${code}: ${text}`);
    this.error = error;
    this.code = code;
    this.status = more.status ?? 400;
    this.suberror = more.suberror;
  }

  /** Text of the error with its trace, as Entra writes it. */
  get description(): string {
    const stamp = timestamp();
    return `${this.message} Trace ID: ${randomUUID()} Correlation ID: ${randomUUID()} Timestamp: ${stamp}`;
  }

  /** The answer of the token endpoint. */
  answer(): StubAnswer {
    const body: Json = {
      error: this.error,
      error_description: this.description,
      error_codes: [this.code],
      timestamp: timestamp(),
      trace_id: randomUUID(),
      correlation_id: randomUUID(),
      error_uri: `https://login.microsoftonline.com/error?code=${this.code}`,
      ...(this.suberror === undefined ? {} : { suberror: this.suberror }),
    };
    return { status: this.status, body, headers: { 'cache-control': 'no-store' } };
  }
}

const timestamp = () => `${new Date().toISOString().slice(0, 19).replace('T', ' ')}Z`;

export const entraErrors = {
  unknownClient: (id: string) =>
    new EntraError(
      'unauthorized_client',
      700016,
      `Application with identifier '${id}' was not found in the directory.`,
    ),
  unknownTenant: (name: string) =>
    new EntraError('invalid_request', 90002, `Tenant '${name}' not found.`),
  wrongSecret: (id: string) =>
    new EntraError(
      'invalid_client',
      7000215,
      `Invalid client secret provided. Ensure the secret being sent in the request is the client secret value, not the client secret ID, for a secret added to app '${id}'.`,
      { status: 401 },
    ),
  missingSecret: () =>
    new EntraError(
      'invalid_client',
      7000218,
      "The request body must contain the following parameter: 'client_assertion' or 'client_secret'.",
      { status: 401 },
    ),
  badAssertion: (text: string, code = 700027) =>
    new EntraError('invalid_client', code, text, { status: 401 }),
  missing: (parameter: string) =>
    new EntraError(
      'invalid_request',
      900144,
      `The request body must contain the following parameter: '${parameter}'.`,
    ),
  invalidGrant: (code: number, text: string, suberror?: string) =>
    new EntraError('invalid_grant', code, text, suberror === undefined ? {} : { suberror }),
};
