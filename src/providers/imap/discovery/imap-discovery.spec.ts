import { once } from 'node:events';
import https from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import tls from 'node:tls';
import { TEST_CERTIFICATE, TEST_KEY } from '../../../../test/support/tls-certificate.ts';
import { EgressClient } from '../../../platform/egress/egress-client.ts';
import { EgressPolicy } from '../../../platform/egress/egress-policy.ts';
import { type DiscoveryOptions, ImapDiscovery } from './imap-discovery.ts';
import type { MailDns, SrvTarget } from './mail-dns.ts';
import { askDav } from './services.ts';
import { tryUsualNames } from './usual-names.ts';

/**
 * A replacement for DNS only, because tests own no domain. The servers that it names are really
 * connected to.
 */
class ScriptedDns implements MailDns {
  readonly asked: string[] = [];
  constructor(
    private readonly mx: readonly string[] = [],
    private readonly srv: Readonly<Record<string, Partial<SrvTarget>>> = {},
  ) {}
  async exchangers(domain: string) {
    this.asked.push(domain);
    return this.mx;
  }
  async services(name: string): Promise<SrvTarget[]> {
    const found = this.srv[name.split('.', 1)[0] ?? ''];
    return found ? [{ host: 'mail.example.test', port: 1, priority: 0, weight: 0, ...found }] : [];
  }
  async exists(host: string) {
    return host === 'localhost' || /^[\d.]+$/.test(host);
  }
  async path() {
    return null;
  }
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;
let close: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const one of close) await one();
  close = [];
});

async function serve(handler: Handler): Promise<{ url: string; seen: string[] }> {
  const seen: string[] = [];
  const server = https.createServer(
    { key: TEST_KEY, cert: TEST_CERTIFICATE },
    (request, response) => {
      seen.push(request.url ?? '');
      handler(request, response);
    },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  close.push(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return { url: `https://localhost:${(server.address() as AddressInfo).port}`, seen };
}

function discovery(
  options: DiscoveryOptions,
  allow = ['127.0.0.0/8'],
  ca = TEST_CERTIFICATE,
): ImapDiscovery {
  const policy = new EgressPolicy(allow);
  const egress = new EgressClient(policy, { ca });
  close.unshift(() => egress.onApplicationShutdown());
  return new ImapDiscovery(policy, egress, { dns: new ScriptedDns(), places: [], ...options });
}

const documentOf = (
  host: string,
) => `<?xml version="1.0"?><clientConfig version="1.1"><emailProvider id="x">
  <incomingServer type="imap"><hostname>${host}</hostname><port>993</port><socketType>SSL</socketType><username>%EMAILADDRESS%</username></incomingServer>
  <outgoingServer type="smtp"><hostname>${host}</hostname><port>465</port><socketType>SSL</socketType></outgoingServer>
  </emailProvider></clientConfig>`;
const SRV = { _imaps: { port: 993 }, _submissions: { port: 465 } };
const EMAIL = 'ada@example.test';
const found = async (with_: ImapDiscovery, email = EMAIL) =>
  (await with_.discover(email)).candidates.map(({ source, confirm, servers }) => [
    source,
    servers.imap_host,
    confirm,
  ]);

describe('ImapDiscovery', () => {
  it('answers known domains at once without the network', async () => {
    const dns = new ScriptedDns();
    const answer = await discovery({ dns }).discover('Ada@GMail.com');
    expect(answer.known).toMatchObject({ preset: 'gmail', providerName: 'gmail', oauth: 'google' });
    expect(answer.candidates).toMatchObject([
      { source: 'preset', servers: { imap_username: 'Ada@GMail.com' } },
    ]);
    expect(dns.asked).toEqual([]);
  });

  it('recognises a domain by its mail exchanger', async () => {
    const answer = await discovery({
      dns: new ScriptedDns(['mx.example.test', 'aspmx.l.google.com']),
    }).discover(EMAIL);
    expect(answer.known?.preset).toBe('gmail');
    expect(answer.candidates).toMatchObject([
      { source: 'mx', servers: { imap_host: 'imap.gmail.com', imap_username: EMAIL } },
    ]);
  });

  it("reads the domain's own file and ranks it above its SRV records", async () => {
    const { url, seen } = await serve((_, response) =>
      response.end(documentOf('imap.example.test')),
    );
    const dns = new ScriptedDns([], SRV);
    expect(
      await found(discovery({ dns, places: [`${url}/{domain}?emailaddress={email}`] })),
    ).toEqual([
      ['autoconfig', 'imap.example.test', false],
      ['srv', 'mail.example.test', false],
    ]);
    expect(seen).toEqual(['/example.test?emailaddress=ada%40example.test']);
  });

  it('asks for confirmation if records point outside the domain', async () => {
    const out = { _imaps: { host: 'mail.hoster.test' }, _submissions: {} };
    expect(await found(discovery({ dns: new ScriptedDns([], out) }))).toEqual([
      ['srv', 'mail.hoster.test', true],
    ]);
    const sideways = { _imaps: { host: 'evil-example.test' }, _submissions: {} };
    expect(await found(discovery({ dns: new ScriptedDns([], sideways) }))).toEqual([
      ['srv', 'evil-example.test', true],
    ]);
  });

  it('accepts records that point to a provider of the table', async () => {
    const servers = {
      _imaps: { host: 'imap.fastmail.com' },
      _submissions: { host: 'smtp.fastmail.com' },
    };
    expect(await found(discovery({ dns: new ScriptedDns([], servers) }))).toEqual([
      ['srv', 'imap.fastmail.com', false],
    ]);
  });

  it('queries an ISPDB with the domain, never with the address', async () => {
    const { url, seen } = await serve((_, response) => response.end(documentOf('imap.db.test')));
    expect(await found(discovery({ ispdbUrl: `${url}/v1.1` }))).toEqual([
      ['ispdb', 'imap.db.test', false],
    ]);
    expect(seen).toEqual(['/v1.1/example.test']);
  });

  it('finds nothing if no server answers', async () => {
    expect(await found(discovery({}))).toEqual([]);
  });

  it('stops at the time limit and returns what it has found so far', async () => {
    const { url } = await serve(() => undefined);
    const dns = new ScriptedDns([], SRV);
    const slow = discovery({ dns, places: [`${url}/never`], limitMs: 1_500 });
    expect(await found(slow)).toEqual([['srv', 'mail.example.test', false]]);
  });

  it('follows redirects over https', async () => {
    const { url } = await serve((request, response) =>
      request.url === '/a'
        ? response.writeHead(302, { location: '/b' }).end()
        : response.end(documentOf('imap.example.test')),
    );
    expect(await found(discovery({ places: [`${url}/a`] }))).toHaveLength(1);
  });

  it.each<[string, Handler]>([
    [
      'a redirect to plain http',
      (_, response) => response.writeHead(302, { location: 'http://localhost:1/' }).end(),
    ],
    [
      'a redirect to a private address',
      (_, response) => response.writeHead(302, { location: 'https://169.254.169.254/' }).end(),
    ],
    [
      'a redirect to itself',
      ({ url }, response) => response.writeHead(302, { location: url }).end(),
    ],
    [
      'a redirect to an unreachable URL',
      (_, response) => response.writeHead(302, { location: 'https://' }).end(),
    ],
    [
      'a document that is too long',
      (_, response) => response.end(documentOf('imap.example.test') + ' '.repeat(200_000)),
    ],
    [
      'a document that never ends',
      (_, response) =>
        void setImmediate(function more() {
          if (!response.destroyed) {
            response.write(' '.repeat(10_000));
            setImmediate(more);
          }
        }),
    ],
    [
      'an error page with a document',
      (_, response) => response.writeHead(404).end(documentOf('imap.example.test')),
    ],
    ['a connection that breaks', (request) => request.socket.destroy()],
  ])('ignores %s', async (_, handler) => {
    const { url } = await serve(handler);
    expect(await found(discovery({ places: [url], limitMs: 2_000 }))).toEqual([]);
  });

  it('ignores a file whose certificate is invalid, and never requests a private address', async () => {
    const { url, seen } = await serve((_, response) =>
      response.end(documentOf('imap.example.test')),
    );
    expect(await found(discovery({ places: [url] }, undefined, tls.rootCertificates[0]))).toEqual(
      [],
    );
    expect(await found(discovery({ places: [url] }, []))).toEqual([]);
    expect(seen).toEqual([]);
  });

  it.each([
    'ada@localhost',
    'ada@127.0.0.1',
    'ada@[::1]',
    'ada@a b.test',
    'ada@-.test/..',
    'ada@',
    'ada',
  ])('makes no query for %s', async (email) => {
    const dns = new ScriptedDns();
    expect(await discovery({ dns }).discover(email)).toEqual({ known: null, candidates: [] });
    expect(dns.asked).toEqual([]);
  });

  it('queries international domains in the form used by DNS', async () => {
    const dns = new ScriptedDns();
    await discovery({ dns }).discover('ada@bücher.test');
    expect(dns.asked).toEqual(['xn--bcher-kva.test']);
  });

  it('shares one query between simultaneous and immediately following callers', async () => {
    const dns = new ScriptedDns([], SRV);
    const shared = discovery({ dns });
    const answers = await Promise.all([shared.discover(EMAIL), shared.discover(EMAIL)]);
    expect(await shared.discover(EMAIL)).toBe(answers[0]);
    expect(dns.asked).toEqual(['example.test']);
  });

  it('leaves out calendars whose host does not exist', async () => {
    const dav = await serve((_, response) => response.writeHead(401).end());
    const { port } = new URL(dav.url);
    const dns = new ScriptedDns([], {
      ...SRV,
      _caldavs: { host: 'cal.example.test', port: Number(port) },
    });
    const { candidates } = await discovery({ dns }).discover(EMAIL);
    expect(candidates[0]?.servers.caldav_url).toBeUndefined();
  });
});

describe('askDav', () => {
  const ask = async (handler: Handler, srv: Readonly<Record<string, Partial<SrvTarget>>> = {}) => {
    const { url } = await serve(handler);
    const port = Number(new URL(url).port);
    const egress = new EgressClient(new EgressPolicy(['127.0.0.0/8']), { ca: TEST_CERTIFICATE });
    close.unshift(() => egress.onApplicationShutdown());
    const dns = new ScriptedDns([], { _caldavs: { host: 'localhost', port }, ...srv });
    const found = await askDav('ada@localhost', dns, (place, options) =>
      egress.get(place, options),
    );
    return found.caldavUrl?.replace(url, '');
  };

  it('follows the well-known URL to the server that asks for a login', async () => {
    const answer = await ask(({ url }, response) => {
      if (url === '/.well-known/caldav') response.writeHead(301, { location: '/dav/' }).end();
      else response.writeHead(401).end();
    });
    expect(answer).toBe('/dav/');
  });

  it.each<[string, Handler]>([
    ['a web page at every URL', (_, response) => response.end('<html>')],
    ['an error', (_, response) => response.writeHead(404).end()],
    [
      'a redirect over plain http',
      (_, response) => response.writeHead(301, { location: 'http://localhost/' }).end(),
    ],
  ])('does not accept %s as a calendar server', async (_, handler) => {
    expect(await ask(handler)).toBeUndefined();
  });

  it('ignores records that point outside the domain', async () => {
    const answer = await ask((_, response) => response.writeHead(401).end(), {
      _caldavs: { host: '127.0.0.1', port: 1 },
    });
    expect(answer).toBeUndefined();
  });
});

describe('tryUsualNames', () => {
  const works = (...names: string[]) =>
    tryUsualNames(EMAIL, async ({ host, port }) => names.includes(`${host}:${port}`));

  it('prefers TLS from the first byte, and imap. and smtp. to mail.', async () => {
    const all = ['imap', 'smtp', 'mail'].flatMap((name) =>
      [993, 143, 465, 587].map((port) => `${name}.example.test:${port}`),
    );
    expect(await works(...all)).toEqual({
      imap: { host: 'imap.example.test', port: 993, security: 'tls', user: EMAIL },
      smtp: { host: 'smtp.example.test', port: 465, security: 'tls', user: EMAIL },
    });
    expect(
      await works('mail.example.test:993', 'imap.example.test:143', 'mail.example.test:587'),
    ).toMatchObject({
      imap: { host: 'mail.example.test', port: 993 },
      smtp: { host: 'mail.example.test', port: 587, security: 'starttls' },
    });
  });

  it('finds nothing if no server works', async () => {
    expect(await works()).toEqual({ imap: undefined, smtp: undefined });
  });
});
