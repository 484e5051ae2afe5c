import { randomUUID } from 'node:crypto';
import { ProviderAccounts } from '../../src/accounts/grants/provider-accounts.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import { sendControl } from './contract-tools.ts';
import type { TestAccount } from './factories.ts';
import type { TestApp } from './test-app.ts';

/**
 * Puts a message into the inbox of a sandbox account.
 * @param lines header lines, then an empty line and the content. From, To and Message-ID are added
 *   if they are not among the lines
 * @param email address of the sender
 * @returns the Message-ID that was added, or would have been
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
  const given = new Set(
    lines.slice(0, lines.indexOf('')).map((line) => line.split(/[ \t]*:/, 1)[0]?.toLowerCase()),
  );
  const header = [
    `Message-ID: ${messageIdHeader}`,
    `From: Somebody <${email}>`,
    `To: ${account.email}`,
  ].filter((line) => !given.has(line.split(':', 1)[0]?.toLowerCase()));
  const mime = Buffer.from([...header, ...lines].join('\r\n'));
  const envelope = { from: email, recipients: [account.email] };
  await server.app
    .get(ConnectorRegistry)
    .requireMail('sandbox')
    .send({ ...connected, email }, { messageIdHeader, mime, envelope, bcc: [] }, sendControl());
  return messageIdHeader;
}
