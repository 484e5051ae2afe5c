import type { ZodType } from 'zod';
import { InvalidInputError } from '../base/errors/domain-error.ts';

const MOST_PROBLEMS = 10;
/** Names of the request's own choosing are repeated in them, and can be long and many. */
const MOST_CHARACTERS = 200;

/**
 * Reads the `settings` of a request by the schema of the provider or service they are for.
 * @throws {InvalidInputError} naming every wrong field (the first ten)
 */
export function parseSettings<T>(schema: ZodType<T>, given: unknown): T {
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues
    .slice(0, MOST_PROBLEMS)
    .map(({ path, message }) => `${['settings', ...path].map(String).join('.')}: ${message}`)
    .map((text) =>
      (text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}…` : text).toWellFormed(),
    );
  throw new InvalidInputError(problems.join('; '));
}
