import { BlockList, type IPVersion, isIP, type SocketAddress } from 'node:net';

/**
 * IPv4 ranges that are not public unicast addresses (IANA special-purpose registry). In order: this
 * network, private, shared (with the metadata service of one cloud), loopback, link-local (metadata
 * services), private, protocol assignments. Then documentation, 6to4 relays, private, benchmarking,
 * documentation, multicast and reserved.
 */
const BLOCKED_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
] as const;

/**
 * IPv6 ranges that are not public. All ranges outside global unicast (2000::/3): unspecified,
 * loopback, IPv4-mapped and -compatible, NAT64 (64:ff9b::/96, 64:ff9b:1::/48), discard-only, unique
 * local, link-local, site-local, multicast. Inside global unicast: protocol assignments (Teredo,
 * benchmarking, ORCHID), documentation, 6to4. These are ranges and not subnets, because `BlockList`
 * takes a subnet that contains the IPv4-mapped addresses to contain all of IPv4.
 */
const BLOCKED_IPV6 = [
  ['::', '1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['2001::', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['2002::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['4000::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
] as const;

const CIDR = /^([0-9a-f.:]+)(?:\/(\d{1,3}))?$/i;

/**
 * Adds an address or a CIDR range.
 * @returns `false` if `range` is neither
 */
function add(list: BlockList, range: string): boolean {
  const [, address = '', bits] = CIDR.exec(range) ?? [];
  const family = isIP(address);
  if (family === 0) return false;
  const longest = family === 4 ? 32 : 128;
  const prefix = bits === undefined ? longest : Number(bits);
  if (prefix > longest) return false;
  list.addSubnet(address, prefix, family === 4 ? 'ipv4' : 'ipv6');
  return true;
}

/** Whether `range` is an IP address or a CIDR range. */
export function isAddressRange(range: string): boolean {
  return add(new BlockList(), range);
}

/**
 * The addresses that outgoing requests may not reach: every address that is not public, except
 * those the operator allows. Pass it to `net.connect` as `blockList`. Node checks literal
 * addresses, and every address that a name resolves to, directly before it connects. A name
 * therefore cannot resolve to another address after the check.
 */
export class AddressRules extends BlockList {
  readonly #allowed = new BlockList();

  /** @param allowed addresses or CIDR ranges that may be reached even if they are not public */
  constructor(allowed: readonly string[] = []) {
    super();
    for (const range of BLOCKED_IPV4) add(this, range);
    for (const [first, last] of BLOCKED_IPV6) this.addRange(first, last, 'ipv6');
    for (const range of allowed) {
      if (!add(this.#allowed, range))
        throw new Error(`"${range}" is neither an address nor a CIDR range`);
    }
  }

  override check(address: string | SocketAddress, family?: IPVersion): boolean {
    const [text, version] =
      typeof address === 'string' ? [address, family] : [address.address, address.family];
    return super.check(text, version) && !this.isAllowed(text, version);
  }

  /**
   * Whether the operator allows the address. Public addresses that are not on the list give
   * `false`.
   */
  isAllowed(address: string, family?: IPVersion): boolean {
    return this.#allowed.check(address, family);
  }
}
