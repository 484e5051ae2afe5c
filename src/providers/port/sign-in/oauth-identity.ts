import type { OauthIdentity } from './oauth-descriptor.ts';

const text = (value: unknown): string | null =>
  typeof value === 'string' && value.trim() ? value.trim() : null;

/**
 * The user of an id token by the standard claims `sub`, `email`, `email_verified` and `name`
 * (OpenID Connect Core 5.1).
 * @returns `'unverified'` if the server says that the address is not verified
 */
export function readIdentity(
  claims: Readonly<Record<string, unknown>>,
): OauthIdentity | 'unverified' {
  const { sub, email, email_verified: verified, name } = claims;
  if (verified === false || verified === 'false') return 'unverified';
  return {
    subject: text(sub),
    email: text(email)?.toLowerCase() ?? null,
    name: text(name)?.slice(0, 200) ?? null,
  };
}
