import type { ProviderAccount, VerifiedAccount } from '../port/connector.ts';
import type { MailDiscovery } from '../port/mail-discovery.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { completeSettings } from './imap-complete.ts';
import { presetProof, proveImap } from './imap-ownership.ts';
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
    throw new ProviderError('unsupported', 'the address of the account is required', {
      setting: 'email',
    });
  }
  const { discovery } = dependencies;
  const input = imapInput.parse(account.settings);
  const completed = await completeSettings(input, account, discovery);
  const settings = await verifyImap(account, completed, dependencies);
  const { email, name } = account;
  // Discovery that has found the servers still knows its answer; for servers that were typed it may take ten seconds.
  const known = input.imap_host === undefined;
  const proof = known
    ? await proveImap({ email, settings }, discovery)
    : presetProof({ email, settings });
  return { email, name, organizationUnit: 'folder', settings, proof };
}
