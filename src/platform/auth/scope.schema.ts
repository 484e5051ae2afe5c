import { z } from 'zod';
import { isScope, SCOPES, type Scope } from './scopes.ts';

/**
 * A list of scopes, also as one comma separated string; parsed to known scopes without repetition. An empty list
 * and null mean "none of its own" and are parsed to null: the integration's scopes apply, or all.
 * @param emptyMessage given: an empty list is refused with it, and only null means null
 */
export function scopeList(emptyMessage?: string) {
  return z
    .union([z.array(z.string()).max(100), z.string().max(1000)], {
      error: 'must be an array of scopes',
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
          message: `unknown scope "${unknown.slice(0, 50)}"; known: ${SCOPES.join(', ')}`,
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
