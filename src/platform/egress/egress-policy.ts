import { isIP } from 'node:net';
import { InvalidInputError } from '../base/errors/domain-error.ts';
import { AddressRules, isAddressRange } from './address-rules.ts';

const HOST_NAME =
  /^(?!.*\.$)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/i;
const MAX_URL_LENGTH = 2048;

/** Whether `entry` may be on the allow-list: a host name, an IP address or a CIDR range. */
export function isEgressAllowEntry(entry: string): boolean {
  if (/^[\d.]+$/.test(entry) || /[:/]/.test(entry)) return isAddressRange(entry);
  return HOST_NAME.test(entry);
}

/** Which URLs are accepted. */
export interface UrlOptions {
  /** True if plain http is accepted for public hosts; default false. Private hosts stay refused. */
  plainHttp?: boolean;
}

/** Removes the brackets that `URL.hostname` puts around IPv6 addresses. */
const bare = (hostname: string): string => hostname.replace(/^\[|\]$/g, '');

const isLocalName = (host: string): boolean => host === 'localhost' || host.endsWith('.localhost');

/**
 * Which addresses outgoing requests may reach. Public hosts are reached over https, or over plain
 * http if the caller allows that. Hosts on the operator's allow-list (`EGRESS_ALLOW`) may also be
 * private, and plain http is always allowed for them.
 */
export class EgressPolicy {
  /** Refuses private and reserved addresses when a connection is opened. */
  readonly guard: AddressRules;
  readonly #hosts: ReadonlySet<string>;

  /** @param allow host names, IP addresses or CIDR ranges */
  constructor(allow: readonly string[]) {
    const wrong = allow.find((entry) => !isEgressAllowEntry(entry));
    if (wrong !== undefined)
      throw new Error(`"${wrong}" is neither a host name, an address nor a CIDR range`);
    this.guard = new AddressRules(allow.filter(isAddressRange));
    this.#hosts = new Set(
      allow.filter((entry) => !isAddressRange(entry)).map((entry) => entry.toLowerCase()),
    );
  }

  /**
   * Whether the allow-list contains exactly this name. The name may then resolve to any address.
   */
  trustsName(hostname: string): boolean {
    return this.#hosts.has(hostname.toLowerCase());
  }

  /**
   * Returns the URL in the form in which it is stored and called. It is normalised as browsers do
   * (`0x7f.1` becomes `127.0.0.1`) and has no fragment. The addresses of a host name are checked
   * only when connecting.
   * @param field wire name for the error text
   * @throws {InvalidInputError} unless the URL uses https, has at most 2048 characters, no user
   *   name and password, and a public or allowed host. Plain http is accepted for allowed hosts,
   *   and for public hosts with `plainHttp`
   */
  normalizeUrl(raw: string, field: string, { plainHttp = false }: UrlOptions = {}): string {
    const wanted = plainHttp ? 'must be an http or https address' : 'must be an https address';
    const refuse = (what: string): never => {
      throw new InvalidInputError(`${field} ${what}`);
    };
    if (raw.length > MAX_URL_LENGTH) refuse(`must not be longer than ${MAX_URL_LENGTH} characters`);
    if (!URL.canParse(raw)) refuse(wanted);
    const url = new URL(raw);
    if (url.protocol !== 'https:' && url.protocol !== 'http:') refuse(wanted);
    if (url.username || url.password) refuse('must not contain a user name or password');
    const host = bare(url.hostname);
    if (host.endsWith('.')) refuse('must not have a host name that ends with a dot');
    const allowed = this.#allows(host);
    const refused =
      isIP(host) > 0
        ? this.guard.check(host, isIP(host) === 4 ? 'ipv4' : 'ipv6')
        : isLocalName(host);
    if (refused && !allowed) refuse('must have a public host');
    if (url.protocol === 'http:' && !allowed && !plainHttp) refuse(wanted);
    url.hash = '';
    return url.href;
  }

  /**
   * Whether the allow-list contains the host or its address. Local names stand for the loopback
   * addresses.
   */
  #allows(host: string): boolean {
    if (this.trustsName(host)) return true;
    if (isLocalName(host))
      return this.guard.isAllowed('127.0.0.1', 'ipv4') || this.guard.isAllowed('::1', 'ipv6');
    const family = isIP(host);
    return family > 0 && this.guard.isAllowed(host, family === 4 ? 'ipv4' : 'ipv6');
  }
}
