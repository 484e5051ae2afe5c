import { EgressPolicy } from '../egress/egress-policy.ts';
import { loadConfig } from './app-config.ts';

const DATABASE_URL = 'postgresql://localhost/none';
const ENCRYPTION_KEYS = `test:${Buffer.alloc(32, 1).toString('base64')}`;

describe('EGRESS_ALLOW', () => {
  it('is empty by default with an own database, so that no private address is reached', () => {
    expect(loadConfig({ DATABASE_URL, ENCRYPTION_KEYS }).egressAllow).toEqual([]);
  });

  const local = { databaseUrl: DATABASE_URL, encryptionKeys: ENCRYPTION_KEYS };
  const allowed = (environment: Record<string, string>, host: string): boolean => {
    const { guard } = new EgressPolicy(loadConfig(environment, local).egressAllow);
    return guard.isAllowed(host, host.includes(':') ? 'ipv6' : 'ipv4');
  };

  it.each(['127.0.0.1', '::1', '192.168.1.20', '10.8.0.4', '172.17.0.2'])(
    'contains %s by default on a developer’s machine, so that a mailbox in its networks connects',
    (host) => expect(allowed({}, host)).toBe(true),
  );

  it.each([
    '169.254.169.254',
    '100.100.100.200',
    'fd00:ec2::254',
    'fe80::1',
    '0.0.0.0',
    '172.32.0.1',
    '198.51.100.7',
  ])('does not contain %s by default', (host) => expect(allowed({}, host)).toBe(false));

  it.each([
    { NODE_ENV: 'production' },
    { NODE_ENV: 'test' },
    { HOST: '0.0.0.0' },
    { BASE_URL: 'https://mail.example.com' },
    { TRUST_PROXY: 'loopback' },
  ])('is this machine only by default with the embedded database and %j', (environment) => {
    expect(loadConfig(environment, local).egressAllow).toEqual(['127.0.0.0/8', '::1']);
  });

  it('is empty by default with DATABASE_URL in local mode', () => {
    expect(loadConfig({ DATABASE_URL }, local).egressAllow).toEqual([]);
  });

  it('replaces the default', () => {
    expect(loadConfig({ DATABASE_URL, ENCRYPTION_KEYS, EGRESS_ALLOW: '10.0.0.0/8' })).toMatchObject(
      {
        egressAllow: ['10.0.0.0/8'],
      },
    );
  });
});
