import type { TrustedProxies } from './trusted-proxies.ts';

const THIS_MACHINE = ['127.0.0.0/8', '::1'] as const;

/**
 * Networks of homes, offices and containers (RFC 1918). Clouds hand out credentials at addresses of
 * the other private networks, so these are left out: 169.254.169.254, 100.100.100.200,
 * fd00:ec2::254.
 */
const PRIVATE_NETWORKS = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'] as const;

const LOOPBACK_HOSTS: readonly string[] = ['127.0.0.1', '::1', 'localhost'];

/** Whether others than people on this machine reach a server at an address; `off` is none. */
const isPublic = (address: string): boolean =>
  address !== 'off' && !LOOPBACK_HOSTS.includes(new URL(address).hostname.replaceAll(/[[\]]/g, ''));

/**
 * What outgoing requests may reach although it is private, if `EGRESS_ALLOW` is not set: nothing
 * with a database of the operator's own, and this machine with the embedded one. A developer's
 * server that only this machine reaches may also call the networks of this machine, so that a
 * mailbox on a company server connects without a restart (docs/adr/0006).
 * @param env values of the variables of these names
 * @param server `baseUrl` is the server's own address, as clients and users see it
 */
export function defaultEgressAllow(
  env: {
    NODE_ENV: string;
    HOST: string;
    PUSH_URL?: string | undefined;
    OPERATOR_URL?: string | undefined;
    TRUST_PROXY: TrustedProxies;
    OPERATOR_TRUST_PROXY: TrustedProxies;
  },
  { embedded, baseUrl }: { embedded: boolean; baseUrl: string },
): readonly string[] {
  if (!embedded) return [];
  const behindProxy = env.TRUST_PROXY !== false || env.OPERATOR_TRUST_PROXY !== false;
  const addresses = [baseUrl, env.PUSH_URL, env.OPERATOR_URL];
  const isPublished = behindProxy || addresses.some((one) => one !== undefined && isPublic(one));
  const isForOnePerson =
    env.NODE_ENV === 'development' && LOOPBACK_HOSTS.includes(env.HOST) && !isPublished;
  return isForOnePerson ? [...THIS_MACHINE, ...PRIVATE_NETWORKS] : THIS_MACHINE;
}
