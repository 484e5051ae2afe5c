import { domainOf } from '../servers/imap-presets.ts';
import { type Found, type FoundServer, isHostName, isWithin } from './found.ts';
import { getByHttps, type HttpsGet } from './https-document.ts';
import { byPreference, type MailDns, type SrvTarget } from './mail-dns.ts';

/**
 * Status codes of a DAV server to a request without a login: it asks for a login, or it answers as
 * a DAV server.
 */
const DAV_ANSWERS = new Set([401, 200, 204, 207, 405]);

/** Finds IMAP and submission servers by SRV records (RFC 6186, RFC 8314 section 5.1). */
export async function askServices(email: string, dns: MailDns): Promise<Found> {
  const domain = domainOf(email);
  const [imap, smtp] = await Promise.all([
    best(dns, email, [`_imaps._tcp.${domain}`, `_imap._tcp.${domain}`]),
    best(dns, email, [`_submissions._tcp.${domain}`, `_submission._tcp.${domain}`]),
  ]);
  return { imap, smtp };
}

async function best(
  dns: MailDns,
  user: string,
  [implicit, upgraded]: readonly [string, string],
): Promise<FoundServer | undefined> {
  const [tls, starttls] = await Promise.all([dns.services(implicit), dns.services(upgraded)]);
  const found = [
    ...tls.map((target) => ({ target, security: 'tls' as const })),
    ...starttls.map((target) => ({ target, security: 'starttls' as const })),
  ].filter(({ target }) => isUsable(target));
  const [first] = byPreference(found);
  return (
    first && { host: first.target.host, port: first.target.port, security: first.security, user }
  );
}

function isUsable({ host, port }: SrvTarget): boolean {
  return isHostName(host) && port >= 1 && port <= 65_535;
}

/**
 * Finds calendars and address books (RFC 6764): by SRV records that stay inside the domain,
 * otherwise by the domain's well-known URLs. A server outside the domain is accepted only if the
 * domain redirects to it over https.
 */
export async function askDav(email: string, dns: MailDns, get: HttpsGet): Promise<Found> {
  const domain = domainOf(email);
  const [caldavUrl, carddavUrl] = await Promise.all([
    davUrl('caldav', domain, dns, get),
    davUrl('carddav', domain, dns, get),
  ]);
  return { caldavUrl, carddavUrl };
}

async function davUrl(
  service: 'caldav' | 'carddav',
  domain: string,
  dns: MailDns,
  get: HttpsGet,
): Promise<string | undefined> {
  const name = `_${service}s._tcp.${domain}`;
  const [targets, path] = await Promise.all([dns.services(name), dns.path(name)]);
  const [first] = byPreference(
    targets
      .filter((target) => isUsable(target) && isWithin(target.host, domain))
      .map((target) => ({ target, security: 'tls' as const })),
  );
  const authority = first ? `${first.target.host}:${first.target.port}` : domain;
  const url = `https://${authority}${path ?? `/.well-known/${service}`}`;
  if (!URL.canParse(url)) return undefined;
  const answer = await getByHttps(new URL(url).href, 1_024, get);
  if (!answer || !DAV_ANSWERS.has(answer.status)) return undefined;
  // A server that answers every URL with a web page is not a DAV server.
  return answer.status === 200 && answer.headers['dav'] === undefined ? undefined : answer.url;
}
