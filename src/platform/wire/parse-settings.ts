import type { ZodType } from 'zod';
import { InvalidInputError } from '../base/errors/domain-error.ts';
import { unknownNamesText } from './error-texts.ts';
import { fieldNames } from './schema-fields.ts';

const MOST_PROBLEMS = 10;
/** Error texts repeat names from the request, which can be long and many. */
const MOST_CHARACTERS = 400;

/**
 * Parses the `settings` of a request with the schema of their provider or service.
 * @throws {InvalidInputError} naming the first ten wrong fields
 */
export function parseSettings<T>(schema: ZodType<T>, given: unknown): T {
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues
    .slice(0, MOST_PROBLEMS)
    .map((issue) => {
      const text =
        issue.code === 'unrecognized_keys' && issue.path.length === 0
          ? unknownNamesText(issue.keys, fieldNames(schema))
          : issue.message;
      return `${['settings', ...issue.path].map(String).join('.')}: ${text}`;
    })
    .map((text) =>
      (text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}…` : text).toWellFormed(),
    );
  throw new InvalidInputError(problems.join('; '));
}
