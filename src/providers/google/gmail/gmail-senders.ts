import { isFromItself } from '../../../formats/mime/sender-identity.ts';
import type { ProviderAccount } from '../../port/connector.ts';
import { senderRefused } from '../../rest/sender-refused.ts';
import type { GmailReader, SendAs } from './gmail-api.ts';
import { GoogleError } from '../google-error.ts';

/**
 * Refuses a message whose From is not an address of the account. Gmail would put the account's own
 * address there, and send it.
 * @throws {ProviderError} `rejected`
 */
export async function assertMaySendFrom(
  gmail: GmailReader,
  account: ProviderAccount,
  from: string,
): Promise<void> {
  if (isFromItself(from, account)) return;
  const own = (await addresses(gmail, account, from)).find(({ sendAsEmail }) =>
    isFromItself(from, { email: sendAsEmail }),
  );
  if (own?.verificationStatus === 'pending')
    throw senderRefused(from, 'It is in the settings of Gmail, but has not been verified yet.');
  if (!own)
    throw senderRefused(
      from,
      'Add it in the settings of Gmail under "Send mail as", verify it, and send the message again.',
    );
}

async function addresses(
  gmail: GmailReader,
  account: ProviderAccount,
  from: string,
): Promise<SendAs[]> {
  try {
    return await gmail.sendAs(account);
  } catch (error) {
    if (!(error instanceof GoogleError && error.isWithoutConsent)) throw error;
    throw senderRefused(
      from,
      `Google does not say whether it is another address of ${account.email}, because the user has not agreed to reading mail.`,
      error,
    );
  }
}
