import type { ProviderAccount, VerifiedAccount } from '../connector.ts';
import type { MailDiscovery } from '../mail-discovery.ts';
import { ProviderError } from '../provider-error.ts';
import { completeSettings } from './imap-complete.ts';
import { imapInput } from './imap.settings.ts';
import { type VerifyDependencies, verifyImap } from './imap-verify.ts';

/**
 * What becomes an account: the settings of a request (`imapInput`), completed, and accepted by the servers.
 * @throws {ProviderError} as `completeSettings` and `verifyImap`
 */
export async function verifyImapAccount(
  account: Omit<ProviderAccount, 'accountId'>,
  dependencies: VerifyDependencies & { discovery: MailDiscovery },
): Promise<VerifiedAccount> {
  if (!account.email.includes('@')) {
    throw new ProviderError('unsupported', 'the address of the account is required', { setting: 'email' });
  }
  const completed = await completeSettings(
    imapInput.parse(account.settings),
    account,
    dependencies.discovery,
  );
  const settings = await verifyImap(account, completed, dependencies);
  return { email: account.email, name: account.name, organizationUnit: 'folder', settings };
}
