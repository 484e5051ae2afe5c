import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { AddressProof } from '../../port/sign-in/address-proof.ts';
import type { MailboxSettings } from '../../port/connector.ts';
import type { MailDiscovery, MailServers } from '../../port/sign-in/mail-discovery.ts';
import { domainOf, presetOfDomain, serversOf } from './imap-presets.ts';

/**
 * The settings that identify a mailbox. An integration's settings may lack a port. A value that is
 * not a text matches no server.
 */
const loginSettings = z.object({
  imap_host: z.string().catch(''),
  imap_port: z.coerce.number().catch(993),
  imap_username: z.string().catch(''),
});

/**
 * Both standard IMAP ports lead to the same mailbox. Any other port may be another server on the
 * same machine.
 */
const USUAL_PORTS: readonly unknown[] = [993, 143];

/**
 * Key of a mailbox: a hash of its IMAP server and login, because logins may be long. Ports 993 and
 * 143 count as the same server. Case is ignored in a login that equals the address.
 */
export function imapMailbox({ email, settings }: MailboxSettings): string {
  const { imap_host, imap_port: port, imap_username: login } = loginSettings.parse(settings);
  const host = imap_host.toLowerCase().replace(/\.$/, '');
  const server = USUAL_PORTS.includes(port) ? host : `${host}:${port}`;
  const user = login.toLowerCase() === email.toLowerCase() ? email.toLowerCase() : login;
  return createHash('sha256').update(`${server}|${user}`).digest('base64url');
}

/**
 * Proves an address if Carillon's table contains its domain and the mailbox is at exactly these
 * servers: the domain has no others. Uses no network.
 */
export function presetProof(account: MailboxSettings): AddressProof | null {
  const preset = presetOfDomain(domainOf(account.email));
  return preset && opens(account, serversOf(preset, account.email)) ? 'preset' : null;
}

/**
 * See `Connector.prove`. Uses Carillon's table, otherwise what the domain publishes about its
 * servers. Servers that a user would have to confirm prove nothing.
 */
export async function proveImap(
  account: MailboxSettings,
  discovery: MailDiscovery,
): Promise<AddressProof | null> {
  const preset = presetProof(account);
  if (preset) return preset;
  const { candidates } = await discovery.discover(account.email);
  const own = candidates.some(({ confirm, servers }) => !confirm && opens(account, servers));
  return own ? 'discovery' : null;
}

/**
 * Whether the account's mailbox is at these servers, with the login they name or with the address
 * itself as the login.
 */
function opens(
  account: MailboxSettings,
  { imap_host, imap_port, imap_username }: MailServers,
): boolean {
  const { email } = account;
  const key = imapMailbox(account);
  return [imap_username, email].some(
    (login) =>
      imapMailbox({ email, settings: { imap_host, imap_port, imap_username: login } }) === key,
  );
}
