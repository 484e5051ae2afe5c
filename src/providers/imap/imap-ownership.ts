import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { AddressProof } from '../port/address-proof.ts';
import type { MailboxSettings } from '../port/connector.ts';
import type { MailDiscovery, MailServers } from '../port/mail-discovery.ts';
import { domainOf, presetOfDomain, serversOf } from './imap-presets.ts';

/** Settings that say which mailbox it is. An integration may lack a port; what is no text is no server of anybody. */
const loginSettings = z.object({
  imap_host: z.string().catch(''),
  imap_port: z.coerce.number().catch(993),
  imap_username: z.string().catch(''),
});

/** The two ports of IMAP lead to the same mailbox; another one may be another server on the same machine. */
const USUAL_PORTS: readonly unknown[] = [993, 143];

/**
 * Key of the mailbox: who logs in, and at which IMAP server. Ports 993 and 143 are one server; a login that is the address
 * itself may be written in any case. A hash, because logins may be long.
 */
export function imapMailbox({ email, settings }: MailboxSettings): string {
  const { imap_host, imap_port: port, imap_username: login } = loginSettings.parse(settings);
  const host = imap_host.toLowerCase().replace(/\.$/, '');
  const server = USUAL_PORTS.includes(port) ? host : `${host}:${port}`;
  const user = login.toLowerCase() === email.toLowerCase() ? email.toLowerCase() : login;
  return createHash('sha256').update(`${server}|${user}`).digest('base64url');
}

/** Our table proves an address whose domain is in it: no other servers are those of that domain. Asks nobody. */
export function presetProof(account: MailboxSettings): AddressProof | null {
  const preset = presetOfDomain(domainOf(account.email));
  return preset && opens(account, serversOf(preset, account.email)) ? 'preset' : null;
}

/**
 * As `Connector.prove`: by our table, else by what the domain says of its servers. Servers that somebody would have to
 * confirm prove nothing.
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

/** Whether the account's mailbox is at these servers, under the login they name or under the address itself. */
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
