import { domainOf } from '../servers/imap-presets.ts';
import { type AutoconfigServer, parseAutoconfig } from './autoconfig-xml.ts';
import { type Found, type FoundServer, isHostName, NOTHING } from './found.ts';
import { type HttpsGet, fetchDocument } from './https-document.ts';

/**
 * Locations where a domain may publish the document; `{domain}` and `{email}` are filled in. Only
 * https, because over http anyone on the network could answer.
 */
export const AUTOCONFIG_LOCATIONS: readonly string[] = [
  'https://autoconfig.{domain}/mail/config-v1.1.xml?emailaddress={email}',
  'https://{domain}/.well-known/autoconfig/mail/config-v1.1.xml',
];

/**
 * Documents have a few kilobytes. They are parsed on the main thread: 32 kB take up to 25 ms, 128
 * kB could take 100 ms.
 */
const LARGEST_BYTES = 32 * 1024;
const SECURITIES: Readonly<Record<string, 'tls' | 'starttls'>> = {
  SSL: 'tls',
  STARTTLS: 'starttls',
};
/**
 * Supported authentication methods. `password-encrypted` is CRAM-MD5; such servers also accept a
 * plain password over TLS.
 */
const LOGINS = new Set(['password-cleartext', 'plain', 'password-encrypted', 'secure', 'oauth2']);

/**
 * Fetches the configuration of an address from one location.
 * @param location an https URL as in `AUTOCONFIG_LOCATIONS`
 * @returns `NOTHING` if there is no usable document
 */
export async function askAutoconfig(
  location: string,
  email: string,
  get: HttpsGet,
): Promise<Found> {
  const url = location
    .replaceAll('{domain}', encodeURIComponent(domainOf(email)))
    .replaceAll('{email}', encodeURIComponent(email));
  const text = await fetchDocument(url, LARGEST_BYTES, get);
  return text === null ? NOTHING : readAutoconfig(text, email);
}

/**
 * Reads the servers for an address from a document. Takes the first encrypted server of each kind,
 * because documents list servers in the domain's order of preference, and fills in the
 * placeholders.
 */
export function readAutoconfig(text: string, email: string): Found {
  let servers: AutoconfigServer[];
  try {
    servers = parseAutoconfig(text);
  } catch {
    // Many web servers answer every URL with a page.
    return NOTHING;
  }
  const pick = (element: string, type: string) =>
    servers
      .filter((server) => server.element === element && server.type === type)
      .map((server) => serverOf(server, email))
      .find((server) => server !== undefined);
  const url = (element: string, type: string) =>
    servers
      .filter((server) => server.element === element && server.type === type)
      .flatMap(({ fields }) => fields.get('serverURL') ?? [])
      .map((value) => fill(value, email))
      .find(
        (value) =>
          URL.canParse(value) && new URL(value).protocol === 'https:' && value.length <= 2_000,
      );
  return {
    imap: pick('incomingServer', 'imap'),
    smtp: pick('outgoingServer', 'smtp'),
    caldavUrl: url('calendar', 'caldav'),
    carddavUrl: url('addressBook', 'carddav'),
  };
}

function serverOf({ fields }: AutoconfigServer, email: string): FoundServer | undefined {
  const first = (name: string) => fill(fields.get(name)?.[0] ?? '', email);
  const host = first('hostname').toLowerCase();
  const port = Number(first('port'));
  const security = SECURITIES[first('socketType').toUpperCase()];
  const logins = fields.get('authentication') ?? [];
  const known = logins.length === 0 || logins.some((login) => LOGINS.has(login.toLowerCase()));
  if (
    !security ||
    !known ||
    !isHostName(host) ||
    !Number.isInteger(port) ||
    port < 1 ||
    port > 65_535
  ) {
    return undefined;
  }
  const user = first('username');
  return { host, port, security, user: user.length > 0 && user.length <= 320 ? user : email };
}

function fill(text: string, email: string): string {
  return text
    .replaceAll('%EMAILADDRESS%', email)
    .replaceAll('%EMAILLOCALPART%', email.slice(0, email.lastIndexOf('@')))
    .replaceAll('%EMAILDOMAIN%', domainOf(email));
}
