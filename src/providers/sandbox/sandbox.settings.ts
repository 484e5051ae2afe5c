import { z } from 'zod';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';

/** Settings of a sandbox account; all are optional (docs/providers/sandbox.md). */
export const sandboxSettings = z.object({
  /** `wrong` and `invalid` are refused; every other value is accepted. */
  password: z.string().max(500).optional(),
  /** Name of the account's owner. */
  name: z.string().trim().min(1).max(200).optional(),
  /** Whether the mailbox has folders (default) or labels. */
  organization_unit: z.enum(['folder', 'label']).optional(),
  /**
   * `false` simulates a server that files no Sent copy, so that a look-up cannot prove that a
   * message was not sent. Default `true`.
   */
  sent_copies: z.boolean().default(true),
  /** `false`: the mailbox and the address book start empty. Default `true`. */
  sample_messages: z.boolean().default(true),
});

/** Settings as stored. Older grants and tests may lack keys. */
export type SandboxSettings = Partial<z.infer<typeof sandboxSettings>>;

const WRONG_PASSWORDS: readonly unknown[] = ['wrong', 'invalid'];

/** Reply of SMTP servers to wrong credentials. */
export const CREDENTIALS_REFUSED = '535 5.7.8 Authentication credentials invalid';

/**
 * Checks the credentials; every method starts with this call, like an exchange with a real server.
 * @throws {ProviderError} `auth-invalid`
 */
export function login(account: { settings: Readonly<Record<string, unknown>> }): SandboxSettings {
  const settings = account.settings as SandboxSettings;
  if (WRONG_PASSWORDS.includes(settings.password)) {
    throw new ProviderError('auth-invalid', CREDENTIALS_REFUSED, {
      phase: 'login',
      setting: 'password',
    });
  }
  return settings;
}
