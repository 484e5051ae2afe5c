import { isIP, isIPv6 } from 'node:net';

/** The parts of a request that show its client's address. */
export interface FromClient {
  /**
   * Address that the HTTP framework found, following `TRUST_PROXY` or `OPERATOR_TRUST_PROXY`. A
   * trusted proxy may have forwarded any text.
   */
  ip?: string | undefined;
  socket: { remoteAddress?: string | undefined };
}

const MAPPED = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i;

/**
 * Returns the address of a request's client: the address that a trusted proxy reports, or
 * else the address of the connection. IPv4 addresses are written as such, even if the socket uses
 * IPv6.
 * @returns the empty string if the connection is already closed
 */
export function clientAddress({ ip, socket }: FromClient): string {
  const reported = unmapped(ip ?? '');
  return isIP(reported) ? reported : unmapped(socket.remoteAddress ?? '');
}

const unmapped = (address: string): string => address.replace(MAPPED, '');

/**
 * The first four groups of an IPv6 address. One customer usually has a whole /64 and can choose any
 * address in it.
 */
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

/** The key for limits per client: the IPv4 address, or the /64 of an IPv6 address. */
export function clientKey(address: string): string {
  const plain = unmapped(address);
  return isIPv6(plain) ? `${network(plain)}::/64` : plain;
}
