const THIS_MACHINE = ['127.0.0.0/8', '::1'] as const;

/**
 * Networks of homes, offices, containers and private clouds (RFC 1918, 6598, 4193). Link-local
 * addresses are left out: at 169.254.169.254, clouds hand out credentials.
 */
const PRIVATE_NETWORKS = [
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  'fc00::/7',
] as const;

const LOOPBACK_HOSTS: readonly string[] = ['127.0.0.1', '::1', 'localhost'];

/**
 * What outgoing requests may reach although it is private, if `EGRESS_ALLOW` is not set: nothing
 * with a database of the operator's own, and this machine with the embedded one. A developer's
 * server that only this machine reaches may also call the networks of this machine, so that a
 * mailbox on a company server connects without a restart (docs/adr/0006).
 * @param settings `host` is the interface that the server listens on
 */
export function defaultEgressAllow(settings: {
  embedded: boolean;
  environment: string;
  host: string;
}): readonly string[] {
  const { embedded, environment, host } = settings;
  if (!embedded) return [];
  const isForOnePerson = environment === 'development' && LOOPBACK_HOSTS.includes(host);
  return isForOnePerson ? [...THIS_MACHINE, ...PRIVATE_NETWORKS] : THIS_MACHINE;
}
