import type { ProviderAccount, VerifiedAccount } from '../port/connector.ts';
import type { MailDiscovery } from '../port/sign-in/mail-discovery.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { completeSettings } from './servers/imap-complete.ts';
import { presetProof, proveImap } from './servers/imap-ownership.ts';
import { imapInput } from './imap.settings.ts';
import { type VerifyDependencies, verifyImap } from './servers/imap-verify.ts';

/**
 * Completes the settings of a request (`imapInput`) and checks them with the servers.
 * @throws {ProviderError} see `completeSettings` and `verifyImap`
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
  // If discovery found the servers, its result is still cached. For servers from the request it
  // could take ten seconds, so only the table is used.
  const known = input.imap_host === undefined;
  const proof = known
    ? await proveImap({ email, settings }, discovery)
    : presetProof({ email, settings });
  return { email, name, organizationUnit: 'folder', settings, proof };
}
