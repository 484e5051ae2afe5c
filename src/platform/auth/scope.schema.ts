import { z } from 'zod';
import { isScope, SCOPES, type Scope } from './scopes.ts';

/**
 * A list of scopes, as an array or as one comma-separated string. The result has only known scopes,
 * without duplicates. `null` and an empty list mean that the grant has no scopes of its own; both
 * become `null`. The integration's scopes then apply, or all scopes.
 * @param emptyMessage if given, an empty list is refused with this message
 */
export function scopeList(emptyMessage?: string) {
  return z
    .union([z.array(z.string()).max(100), z.string().max(1000)], {
      error: 'must be an array of scopes or a comma-separated string',
    })
    .nullable()
    .transform((value, context): Scope[] | null => {
      const names = (typeof value === 'string' ? value.split(',') : (value ?? []))
        .map((name) => name.trim())
        .filter(Boolean);
      const unknown = names.find((name) => !isScope(name));
      if (unknown !== undefined) {
        context.addIssue({
          code: 'custom',
          message: `unknown scope "${unknown.slice(0, 50)}"; allowed: ${SCOPES.join(', ')}`,
        });
        return z.NEVER;
      }
      if (names.length === 0 && value !== null && emptyMessage !== undefined) {
        context.addIssue({ code: 'custom', message: emptyMessage });
        return z.NEVER;
      }
      return names.length > 0 ? [...new Set(names.filter(isScope))] : null;
    });
}
