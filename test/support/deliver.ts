import { randomUUID } from 'node:crypto';
import { ProviderAccounts } from '../../src/accounts/grants/provider-accounts.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import { sendControl } from './contract-tools.ts';
import type { TestAccount } from './factories.ts';
import type { TestApp } from './test-app.ts';

/**
 * Puts a message into the inbox of a sandbox account.
 * @param lines header lines besides From, To and Message-ID, then an empty line and the content
 * @param email address of the sender
 * @returns its Message-ID
 */
export async function deliver(
  server: TestApp,
  account: TestAccount,
  lines: readonly string[],
  email = 'somebody@elsewhere.test',
): Promise<string> {
  const connected = await server.app.get(ProviderAccounts).find(account.id);
  if (!connected) throw new Error('no such account');
  const messageIdHeader = `<${randomUUID()}@seed.test>`;
  const header = [
    `Message-ID: ${messageIdHeader}`,
    `From: Somebody <${email}>`,
    `To: ${account.email}`,
  ];
  const mime = Buffer.from([...header, ...lines].join('\r\n'));
  const envelope = { from: email, recipients: [account.email] };
  await server.app
    .get(ConnectorRegistry)
    .requireMail('sandbox')
    .send({ ...connected, email }, { messageIdHeader, mime, envelope, bcc: [] }, sendControl());
  return messageIdHeader;
}
