import { randomUUID } from 'node:crypto';
import type { ProviderAccount } from '../../src/providers/port/connector.ts';

/** An account whose calendars and address books are on a DAV server. It has no mail server. */
export function davAccount(url: string, user: string, password: string): ProviderAccount {
  return {
    accountId: randomUUID(),
    applicationId: randomUUID(),
    email: `${user}@example.test`,
    name: 'Alice Example',
    organizationUnit: 'folder',
    settings: {
      imap_host: 'imap.example.test',
      imap_port: 993,
      imap_security: 'tls',
      imap_username: user,
      imap_password: password,
      smtp_host: 'smtp.example.test',
      smtp_port: 465,
      smtp_security: 'tls',
      smtp_username: user,
      smtp_password: password,
      caldav_url: url,
      carddav_url: url,
    },
  };
}

/** Another client program with the same login. */
export function otherClient({ settings }: Pick<ProviderAccount, 'settings'>) {
  const { caldav_url, imap_username, imap_password } = settings as Record<string, string>;
  const authorization = `Basic ${Buffer.from(`${imap_username}:${imap_password}`).toString('base64')}`;
  return async (
    method: string,
    path: string,
    body?: string | Buffer<ArrayBuffer>,
    headers: Record<string, string> = {},
  ) => {
    const answer = await fetch(new URL(path, caldav_url), {
      method,
      headers: { authorization, ...headers },
      ...(body === undefined ? {} : { body }),
    });
    return { status: answer.status, etag: answer.headers.get('etag'), text: await answer.text() };
  };
}

/**
 * Creates the first calendar of an account, as a user's calendar program does. An existing one is
 * kept.
 */
export async function makeCalendar(
  account: Pick<ProviderAccount, 'settings'>,
  name = 'personal',
): Promise<string> {
  const user = String(account.settings['imap_username']);
  const path = `/${user}/${name}/`;
  await otherClient(account)('MKCALENDAR', path);
  return path;
}

/**
 * Creates the address book of an account, as a user's contacts program does. An existing one is
 * kept.
 */
export async function makeAddressBook(
  account: Pick<ProviderAccount, 'settings'>,
  name = 'people',
): Promise<string> {
  const user = String(account.settings['imap_username']);
  const path = `/${user}/${name}/`;
  const type = '<D:resourcetype><D:collection/><C:addressbook/></D:resourcetype>';
  const body = `<D:mkcol xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:carddav"><D:set><D:prop>${type}</D:prop></D:set></D:mkcol>`;
  await otherClient(account)('MKCOL', path, body, { 'content-type': 'application/xml' });
  return path;
}
