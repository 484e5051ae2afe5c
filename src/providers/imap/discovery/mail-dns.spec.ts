import { byPreference } from './mail-dns.ts';

describe('byPreference', () => {
  const target = (
    host: string,
    security: 'tls' | 'starttls',
    priority: number,
    weight: number,
  ) => ({
    target: { host, port: 1, priority, weight },
    security,
  });

  it('sorts by priority, also across services, then by encryption, then by weight', () => {
    const ordered = byPreference([
      target('later', 'tls', 20, 99),
      target('heavy-starttls', 'starttls', 10, 99),
      target('light', 'tls', 10, 1),
      target('heavy', 'tls', 10, 50),
      target('first', 'starttls', 5, 0),
    ]);
    expect(ordered.map(({ target: { host } }) => host)).toEqual([
      'first',
      'heavy',
      'light',
      'heavy-starttls',
      'later',
    ]);
  });
});
