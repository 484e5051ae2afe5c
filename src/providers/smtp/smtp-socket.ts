import { connect, type Socket } from 'node:net';
import type { EgressPolicy } from '../../platform/egress/egress-policy.ts';
import type { SmtpServer } from './smtp-settings.ts';
import { waitFor } from './wait.ts';

/** Time in milliseconds for one of several addresses of a host; Node's 250 are less than a round trip around the world. */
export const ATTEMPT_MS = 2_500;

/**
 * Opens a TCP connection to a mail server under the operator's guard: private addresses are refused at this point, also
 * those a name resolves to, unless the allow-list has them or the name. The library is given the open connection,
 * because its own way looks names up before the guard could see them.
 * @throws {Error} with Node's codes, `ERR_IP_BLOCKED` for an address that is refused; as `waitFor`
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
      // Stays for good: until somebody else listens, an error must not end the process.
      socket.on('error', wait.reject);
    });
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** Whether the operator named the host, or allows the address it was reached at. */
export function isTrustedHost(policy: EgressPolicy, host: string, socket: Socket): boolean {
  const { remoteAddress, remoteFamily } = socket;
  return (
    policy.trustsName(host) ||
    (remoteAddress !== undefined &&
      policy.guard.isAllowed(remoteAddress, remoteFamily === 'IPv6' ? 'ipv6' : 'ipv4'))
  );
}
