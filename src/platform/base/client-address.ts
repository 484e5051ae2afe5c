import { isIP, isIPv6 } from 'node:net';

/** What of a request says where it comes from. */
export interface FromClient {
  /** The HTTP framework's word, which follows `TRUST_PROXY`. A proxy that is trusted may have forwarded any text. */
  ip?: string | undefined;
  socket: { remoteAddress?: string | undefined };
}

const MAPPED = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i;

/**
 * The address of whoever sent a request: of the connection, or as the proxies of `TRUST_PROXY` tell. IPv4 addresses are written
 * as such, also where the socket speaks IPv6.
 * @returns the empty string when the connection is gone already
 */
export function clientAddress({ ip, socket }: FromClient): string {
  const told = unmapped(ip ?? '');
  return isIP(told) ? told : unmapped(socket.remoteAddress ?? '');
}

const unmapped = (address: string): string => address.replace(MAPPED, '');

/** The first four groups of an IPv6 address: one customer usually has a whole /64, and can choose among its addresses. */
function network(address: string): string {
  const [head = '', tail] = (address.split('%', 1)[0] ?? '').toLowerCase().split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const behind = tail === '' ? 0 : tail.split(':').length + (tail.includes('.') ? 1 : 0);
    while (groups.length < 8 - behind && groups.length < 4) groups.push('0');
    if (groups.length < 4) groups.push(...tail.split(':'));
  }
  return groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':');
}

/** What limits per client count by: the IPv4 address, or the /64 of an IPv6 address. */
export function clientKey(address: string): string {
  const plain = unmapped(address);
  return isIPv6(plain) ? `${network(plain)}::/64` : plain;
}
