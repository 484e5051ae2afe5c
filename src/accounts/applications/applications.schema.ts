import { z } from 'zod';
import { scopeList } from '../../platform/auth/scope.schema.ts';
import { emailAddress, httpUrl, integerLike } from '../../platform/wire/wire.schema.ts';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import type { ApplicationChange } from './applications.service.ts';
import { LONGEST_TOKEN_SECONDS, SHORTEST_TOKEN_SECONDS } from './token-lifetime.ts';

const NAMES_NO_SCOPE = 'must name at least one scope, or be null to allow every scope';

/** The contact address in a body: `null` or the empty string removes it. */
export const contactEmail = () =>
  z
    .union([z.literal('').transform(() => null), emailAddress()])
    .nullable()
    .describe(
      'Address that gets a mail when webhooks fail, stop or recover: at most one an hour. Null or the empty string: nobody gets one. Refused with 400 if the server cannot send mail',
    )
    .meta({ example: 'team@app.example.test' });

/** Body of PUT /a/{client_id}. Every field is optional; an empty body changes nothing. */
export const updateApplicationSchema = z
  .looseObject({
    application_name: z.string().trim().min(1, 'must not be empty').max(200).nullish(),
    icon_url: z
      .union([z.literal(''), httpUrl()])
      .nullable()
      .optional()
      .describe('Null or the empty string removes it'),
    contact_email: contactEmail().optional(),
    redirect_uris: z.array(httpUrl()).max(100).nullish().describe('Replaces the list'),
    allow_response_type_token: z
      .boolean()
      .optional()
      .describe(
        'Whether /oauth/authorize accepts `response_type=token`, with the access token in the URL',
      ),
    allowed_scopes: scopeList(NAMES_NO_SCOPE)
      .optional()
      .describe('All scopes that a sign-in may grant from now on; null for every scope'),
    access_token_expires_in: integerLike({
      min: SHORTEST_TOKEN_SECONDS,
      max: LONGEST_TOKEN_SECONDS,
    })
      .nullable()
      .optional()
      .describe(
        'Lifetime in seconds of tokens from later sign-ins; null if they work until they are revoked',
      ),
    revoke_tokens_on_sign_in: z
      .boolean()
      .optional()
      .describe('Whether a sign-in revokes the earlier access tokens of its account'),
  })
  .meta({
    id: 'UpdateApplication',
    // Other fields are kept only so that a body of nothing else can be refused.
    additionalProperties: false,
    example: {
      application_name: 'Front desk',
      icon_url: 'https://app.example.test/icon.png',
      redirect_uris: ['https://app.example.test/callback'],
      allow_response_type_token: false,
    },
  });
export type UpdateApplication = z.infer<typeof updateApplicationSchema>;

export const applicationView = z
  .object({
    application_name: z.string(),
    icon_url: z.string().nullable(),
    contact_email: z
      .string()
      .nullable()
      .describe('Address that gets mails about failing webhooks; null: nobody gets them'),
    redirect_uris: z.array(z.string()),
    allow_response_type_token: z.boolean(),
    allowed_scopes: z
      .array(z.string())
      .nullable()
      .describe('Null if a sign-in may grant every scope'),
    access_token_expires_in: z
      .number()
      .int()
      .nullable()
      .describe('Seconds; null if tokens work until they are revoked'),
    revoke_tokens_on_sign_in: z.boolean(),
  })
  .meta({
    id: 'Application',
    example: {
      application_name: 'Front desk',
      icon_url: null,
      contact_email: 'team@app.example.test',
      redirect_uris: ['https://app.example.test/callback'],
      allow_response_type_token: false,
      allowed_scopes: null,
      access_token_expires_in: null,
      revoke_tokens_on_sign_in: false,
    },
  });
export type ApplicationView = z.infer<typeof applicationView>;

export const ipAddressesView = z
  .object({
    ip_addresses: z
      .array(z.string())
      .describe('The addresses that requests of this server come from'),
    updated_at: z.number().int(),
  })
  .meta({
    id: 'IpAddresses',
    example: { ip_addresses: ['198.51.100.7'], updated_at: 1_700_000_000 },
  });
export type IpAddressesView = z.infer<typeof ipAddressesView>;

/** @throws {InvalidInputError} if all fields of the body are unknown */
export function toApplicationChange(body: UpdateApplication): ApplicationChange {
  const { application_name, icon_url, redirect_uris, allow_response_type_token, allowed_scopes } =
    body;
  const { contact_email, access_token_expires_in, revoke_tokens_on_sign_in } = body;
  const known = Object.keys(updateApplicationSchema.shape);
  const unknown = Object.keys(body).filter((name) => !known.includes(name));
  if (unknown.length > 0 && unknown.length === Object.keys(body).length) {
    throw new InvalidInputError(
      `${unknown.slice(0, 5).join(', ').slice(0, 200)}: cannot be changed; give ${known.join(', ')}`,
    );
  }
  return {
    name: application_name ?? undefined,
    iconUrl: icon_url === '' ? null : icon_url,
    contactEmail: contact_email,
    redirectUris: redirect_uris ?? undefined,
    allowsTokenResponse: allow_response_type_token,
    allowedScopes: allowed_scopes,
    tokenLifetime: access_token_expires_in,
    revokesOlderTokens: revoke_tokens_on_sign_in,
  };
}
