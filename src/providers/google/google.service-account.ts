import { z } from 'zod';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';

/** The parts of a service account's key file that sign-in uses. */
const keyFile = z.object({
  client_email: z.string().min(3),
  private_key: z.string().includes('PRIVATE KEY'),
  private_key_id: z.string().optional(),
});

/**
 * Reads the key file of a service account, given as an object or as JSON text. Its `token_uri` is
 * not used: assertions go to Google only.
 * @throws {InvalidInputError}
 */
export function readServiceAccount(given: unknown): z.infer<typeof keyFile> {
  const parsed = keyFile.safeParse(typeof given === 'string' ? parse(given) : given);
  if (parsed.success) return parsed.data;
  throw new InvalidInputError(
    'settings.service_account_json: must be the JSON key file of a service account, with client_email and private_key',
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
