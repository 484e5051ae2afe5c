import { z } from 'zod';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';

/** Settings of a sandbox account; all optional (docs/providers/sandbox.md). */
export const sandboxSettings = z.object({
  /** `wrong` and `invalid` are refused, anything else is accepted. */
  password: z.string().max(500).optional(),
  /** Name of the account's owner. */
  name: z.string().trim().min(1).max(200).optional(),
  /** Whether the mailbox has folders (default) or labels. */
  organization_unit: z.enum(['folder', 'label']).optional(),
  /** false: a server that files no Sent copy, so that nobody can tell later whether a message was sent. */
  sent_copies: z.boolean().default(true),
  /** false: the mailbox and the address book start empty. */
  sample_messages: z.boolean().default(true),
});

/** Settings as stored; those of older grants and of tests may lack keys. */
export type SandboxSettings = Partial<z.infer<typeof sandboxSettings>>;

const WRONG_PASSWORDS: readonly unknown[] = ['wrong', 'invalid'];

/** What SMTP servers answer to wrong credentials. */
export const CREDENTIALS_REFUSED = '535 5.7.8 Authentication credentials invalid';

/**
 * Checks the credentials, as every exchange with a server begins.
 * @throws {ProviderError} `auth-invalid`
 */
export function login(account: { settings: Readonly<Record<string, unknown>> }): SandboxSettings {
  const settings = account.settings as SandboxSettings;
  if (WRONG_PASSWORDS.includes(settings.password)) {
    throw new ProviderError('auth-invalid', CREDENTIALS_REFUSED, { phase: 'login' });
  }
  return settings;
}
