import { z } from 'zod';
import { scopesOfProvider } from './provider-scopes.ts';
import { isScope, SCOPES, type Scope } from './scopes.ts';

/** Scopes of the examples in the documentation: everything that an account has. */
export const EXAMPLE_SCOPES: readonly Scope[] = [
  'email',
  'calendar',
  'contacts',
  'room_resources.read_only',
];

const NO_DATA =
  'none of these scopes permits to read or change anything; name at least one of the data, or leave the list empty for all';

/**
 * A list of scopes, as an array or as one comma-separated string. The result has only known scopes,
 * without duplicates; scopes of Google and Microsoft become those here that permit no more. `null`
 * and an empty list mean that the grant has no scopes of its own; both become `null`. The
 * integration's scopes then apply, or all scopes.
 * @param emptyMessage if given, an empty list is refused with this message
 */
export function scopeList(emptyMessage?: string) {
  return z
    .union([z.array(z.string()).max(100), z.string().max(1000)], {
      error: 'must be an array of scopes or a comma-separated string',
    })
    .nullable()
    .transform((value, context): Scope[] | null => {
      const refuse = (message: string) => {
        context.addIssue({ code: 'custom', message });
        return z.NEVER;
      };
      const names = (typeof value === 'string' ? value.split(',') : (value ?? []))
        .map((name) => name.trim())
        .filter(Boolean);
      const unknown = names.find((name) => !scopesNamed(name, names));
      if (unknown !== undefined)
        return refuse(`unknown scope "${unknown.slice(0, 50)}"; allowed: ${SCOPES.join(', ')}`);
      if (names.length === 0)
        return value !== null && emptyMessage !== undefined ? refuse(emptyMessage) : null;
      const scopes = [...new Set(names.flatMap((name) => scopesNamed(name, names) ?? []))];
      // An empty list would mean all scopes, the opposite of what was asked for.
      return scopes.length > 0 ? scopes : refuse(NO_DATA);
    });
}

/** Beside `openid`, `email` is the scope of OpenID Connect for the address, not the one of mail. */
function scopesNamed(name: string, all: readonly string[]): readonly Scope[] | undefined {
  if (name === 'email' && all.includes('openid')) return [];
  return isScope(name) ? [name] : scopesOfProvider(name);
}
