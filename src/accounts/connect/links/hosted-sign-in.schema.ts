import { z } from 'zod';
import { EXAMPLE_SCOPES, scopeList } from '../../../platform/auth/scope.schema.ts';
import { emailAddress, integerLike } from '../../../platform/wire/wire.schema.ts';
import { grantMetadataInput } from '../../grants/grants.schema.ts';
import { providerField } from '../../integrations/integrations.schema.ts';
import type { HostedRequest } from './login-starts.service.ts';
import type { AuthorizeRequest } from '../oauth/oauth-authorize.service.ts';
import type { ReturnError } from '../sign-in/sign-in-return.ts';

const LONGEST_STATE = 255;

/** Text that can be stored in a table and sent in a header. */
const plain = (most: number) =>
  z
    .string()
    .max(most, `must not be longer than ${most} characters`)
    .refine(
      (value) => value.isWellFormed() && !/\p{Cc}/u.test(value),
      'must not contain control characters',
    );

const loginHint = () => z.union([z.literal(''), emailAddress()]);

export const hostedAuthSchema = z
  .object({
    provider: providerField.nullish().describe('If absent, the user chooses'),
    redirect_uri: plain(2048).describe(
      'Must be identical to an address registered with the application or the integration',
    ),
    grant_id: z
      .string()
      .max(100)
      .nullish()
      .describe('The grant to authenticate again; it keeps its id'),
    account_id: z.string().max(100).nullish().describe('Other name of `grant_id`'),
    login_hint: loginHint().nullish().describe('Address to suggest to the user'),
    state: plain(LONGEST_STATE).nullish().describe('Handed back'),
    expires_in: integerLike({ min: 61, max: 315_359_999 })
      .nullish()
      .describe('Lifetime of the link in seconds; default: `expires_in` of the integration'),
    settings: z
      .record(z.string(), z.unknown())
      .nullish()
      .describe(
        'Provider settings that are already known, such as imap_host. The response names settings that no page of the sign-in uses',
      ),
    metadata: grantMetadataInput.nullish(),
    scope: scopeList().optional().describe('Instead of the scopes of the integration'),
  })
  .meta({
    id: 'HostedAuth',
    example: {
      provider: 'sandbox',
      redirect_uri: 'https://app.example.test/callback',
      login_hint: 'ada@sandbox.test',
      state: 'signup-17',
      scope: EXAMPLE_SCOPES,
    },
  });
export type HostedAuth = z.infer<typeof hostedAuthSchema>;

const loginInfo = z
  .object({
    id: z.string(),
    url: z.string().describe('Where to send the user; works once'),
    expires_at: z.number().int(),
    request: z.object({
      redirect_uri: z.string(),
      provider: z.string().nullable(),
      login_hint: z.string(),
      state: z.string(),
      scope: z.array(z.string()),
      metadata: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
    }),
  })
  .meta({
    id: 'LoginInfo',
    example: {
      id: '019aa1b2-0000-7000-8000-000000000001',
      url: 'https://int.example.test/connect/login?id=q8w4e6r2t8y5f2p0a8k3n1m7q9w4e6r2t8y5f2p0',
      expires_at: 1_700_003_600,
      request: {
        redirect_uri: 'https://app.example.test/callback',
        provider: 'sandbox',
        login_hint: 'ada@sandbox.test',
        state: 'signup-17',
        scope: EXAMPLE_SCOPES,
        metadata: {},
      },
    },
  });

export const loginInfoEnvelope = z
  .object({ success: z.literal(true), data: loginInfo })
  .meta({ id: 'LoginInfoEnvelope' });
export type LoginInfoEnvelope = z.infer<typeof loginInfoEnvelope>;

export function toHostedRequest(body: HostedAuth): HostedRequest {
  return {
    provider: body.provider ?? null,
    redirectUri: body.redirect_uri,
    grantId: body.grant_id ?? body.account_id ?? null,
    grantField: typeof body.grant_id === 'string' ? 'grant_id' : 'account_id',
    loginHint: body.login_hint || null,
    clientState: body.state ?? null,
    expiresIn: body.expires_in ?? null,
    settings: body.settings ?? null,
    metadata: body.metadata ?? null,
    scope: body.scope ?? null,
  };
}

/** Whether a flag is set. PHP clients send `1` for true. All other values count as false. */
const isSet = (value: string): boolean => value === '1' || value.toLowerCase() === 'true';

const flag = z
  .string()
  .optional()
  .transform((value) => value !== undefined && isSet(value));

/**
 * Parameters of `GET /oauth/authorize`, except `client_id` and `redirect_uri`, which are checked
 * first.
 */
const authorizeQuerySchema = z.object({
  response_type: z.enum(['code', 'token'], 'must be code or token').default('code'),
  scopes: scopeList().optional(),
  // Clients often do not encode addresses in the query. An unencoded `+` arrives as a space, which
  // no address contains.
  login_hint: z
    .string()
    .transform((value) => value.trim().replaceAll(' ', '+'))
    .pipe(loginHint())
    .optional(),
  state: plain(LONGEST_STATE).optional(),
  provider: plain(50)
    .transform((name) => name.toLowerCase())
    .optional(),
  disable_provider_selection: flag,
  force_password: flag,
});

/**
 * Errors that OAuth defines for a parameter (RFC 6749 4.1.2.1). Every other parameter gets
 * `invalid_request`.
 */
const FIELD_ERRORS: Readonly<Record<string, ReturnError>> = {
  response_type: 'unsupported_response_type',
  scopes: 'invalid_scope',
};

/** @param query as the browser sent it */
export function toAuthorizeRequest(query: Readonly<Record<string, unknown>>): AuthorizeRequest {
  return {
    clientId: single(query, 'client_id'),
    redirectUri: single(query, 'redirect_uri'),
    redirectOnError: isSet(single(query, 'redirect_on_error')),
    clientState: authorizeQuerySchema.shape.state.safeParse(query['state']).data ?? null,
    asked: toAuthorizeWishes(query),
  };
}

function toAuthorizeWishes(query: Readonly<Record<string, unknown>>): AuthorizeRequest['asked'] {
  const parsed = authorizeQuerySchema.safeParse(query);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = String(issue?.path[0] ?? '');
    return {
      error: FIELD_ERRORS[field] ?? 'invalid_request',
      message: `${field}: ${issue?.message ?? ''}`,
    };
  }
  const { data } = parsed;
  return {
    responseType: data.response_type,
    scope: data.scopes,
    loginHint: data.login_hint || null,
    provider: data.provider || null,
    noChoice: data.disable_provider_selection,
    byPassword: data.force_password,
  };
}

/** Parameters must not be repeated (RFC 6749 3.1), so a repeated one counts as empty. */
function single(query: Readonly<Record<string, unknown>>, name: string): string {
  const value = query[name];
  return typeof value === 'string' ? value : '';
}
