import { connect, type Socket } from 'node:net';
import type { EgressPolicy } from '../../platform/egress/egress-policy.ts';
import type { SmtpServer } from './smtp-settings.ts';
import { waitFor } from './wait.ts';

/**
 * Time for each of several addresses of a host, in milliseconds. Node's default of 250 is less than
 * a round trip around the world.
 */
export const ATTEMPT_MS = 2_500;

/**
 * Opens a TCP connection to a mail server. The egress guard refuses private addresses here,
 * including those that a name resolves to, unless the operator's allow-list contains the address or
 * the name. The library gets the open connection, because it would resolve names itself and bypass
 * the guard.
 * @throws {Error} with Node's codes; `ERR_IP_BLOCKED` for a refused address; also the errors of
 *   `waitFor`
 */
export async function openSocket(
  { host, port }: Pick<SmtpServer, 'host' | 'port'>,
  policy: EgressPolicy,
  limitMs: number,
  signal: AbortSignal | null,
): Promise<Socket> {
  const socket = connect({
    host,
    port,
    blockList: policy.trustsName(host) ? undefined : policy.guard,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ATTEMPT_MS,
    noDelay: true,
  });
  try {
    await waitFor<void>(signal, (wait) => {
      wait.within(limitMs, 'no connection in time');
      socket.once('connect', wait.resolve);
      // This listener stays. Without a listener an error would end the process.
      socket.on('error', wait.reject);
    });
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** Whether the operator's allow-list contains the host's name or the address it was reached at. */
export function isTrustedHost(policy: EgressPolicy, host: string, socket: Socket): boolean {
  const { remoteAddress, remoteFamily } = socket;
  return (
    policy.trustsName(host) ||
    (remoteAddress !== undefined &&
      policy.guard.isAllowed(remoteAddress, remoteFamily === 'IPv6' ? 'ipv6' : 'ipv4'))
  );
}
