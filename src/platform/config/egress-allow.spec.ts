import { loadConfig } from './app-config.ts';

const DATABASE_URL = 'postgresql://localhost/none';
const ENCRYPTION_KEYS = `test:${Buffer.alloc(32, 1).toString('base64')}`;

describe('EGRESS_ALLOW', () => {
  it('is empty by default with an own database, so that no private address is reached', () => {
    expect(loadConfig({ DATABASE_URL, ENCRYPTION_KEYS }).egressAllow).toEqual([]);
  });

  it('is this machine by default with the embedded database only', () => {
    const local = { databaseUrl: DATABASE_URL, encryptionKeys: ENCRYPTION_KEYS };
    expect(loadConfig({}, local).egressAllow).toEqual(['127.0.0.0/8', '::1']);
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
