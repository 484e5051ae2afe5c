import { askServices } from './services.ts';
import { isWithin } from './found.ts';
import { ImapDiscovery } from './imap-discovery.ts';
import type { MailDns } from './mail-dns.ts';
import { tryUsualNames } from './usual-names.ts';
import { EgressClient } from '../../../platform/egress/egress-client.ts';
import { EgressPolicy } from '../../../platform/egress/egress-policy.ts';

describe('hosts that belong to the owner of a domain', () => {
  it.each([
    ['example.org', 'example.org', true],
    ['mail.example.org', 'example.org', true],
    ['mail.example.co.uk', 'example.co.uk', true],
    ['mail.web.de', 'web.de', true],
    ['evil-example.org', 'example.org', false],
    ['eu.org', 'eu.org', true],
    ['mail.eu.org', 'eu.org', false],
    ['mail.co.uk', 'co.uk', false],
    ['imap.duckdns.org', 'duckdns.org', false],
  ])('%s below %s: %s', (host, domain, within) => {
    expect(isWithin(host, domain)).toBe(within);
  });

  it('are the only ones at which usual names are tried', async () => {
    const tried: string[] = [];
    const probe = async ({ host }: { host: string }) => {
      tried.push(host);
      return true;
    };
    const found = await tryUsualNames('ada@duckdns.org', probe);
    expect(new Set(tried)).toEqual(new Set(['duckdns.org']));
    expect(found.imap?.host).toBe('duckdns.org');
    expect((await tryUsualNames('ada@example.org', probe)).imap?.host).toBe('imap.example.org');
  });

  it('are the only ones accepted from SRV records without asking the user', async () => {
    const dns: MailDns = {
      exchangers: async () => [],
      services: async () => [{ host: 'mail.duckdns.org', port: 993, priority: 0, weight: 0 }],
      exists: async () => false,
      path: async () => null,
    };
    expect((await askServices('ada@duckdns.org', dns)).imap?.host).toBe('mail.duckdns.org');
    const policy = new EgressPolicy([]);
    const egress = new EgressClient(policy);
    try {
      const discovery = new ImapDiscovery(policy, egress, { dns });
      const { candidates } = await discovery.discover('ada@duckdns.org');
      expect(candidates).toMatchObject([{ source: 'srv', confirm: true }]);
    } finally {
      await egress.onApplicationShutdown();
    }
  });
});
