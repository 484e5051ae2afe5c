import { InvalidInputError } from '../base/errors/domain-error.ts';
import { EgressPolicy, isEgressAllowEntry } from './egress-policy.ts';

const closed = new EgressPolicy([]);
const open = new EgressPolicy(['127.0.0.0/8', '::1', 'receiver', 'Hooks.Example.Test']);

describe('EgressPolicy.normalizeUrl', () => {
  it('accepts plain http only if the option allows it, and never for a private host', () => {
    const policy = new EgressPolicy([]);
    expect(() => policy.normalizeUrl('http://example.com/', 'url')).toThrow(
      'url must be an https address',
    );
    expect(policy.normalizeUrl('http://example.com/', 'url', { plainHttp: true })).toBe(
      'http://example.com/',
    );
    expect(() => policy.normalizeUrl('http://10.0.0.1/', 'url', { plainHttp: true })).toThrow(
      'public host',
    );
    expect(() => policy.normalizeUrl('ftp://example.com/', 'url', { plainHttp: true })).toThrow(
      'url must be an http or https address',
    );
  });

  it.each([
    ['https://example.com', 'https://example.com/'],
    ['HTTPS://Example.COM:443/a b?x=1#part', 'https://example.com/a%20b?x=1'],
    ['https://bücher.example/', 'https://xn--bcher-kva.example/'],
    ['https://example.com:8443/hook', 'https://example.com:8443/hook'],
    ['https://93.184.215.14/', 'https://93.184.215.14/'],
    ['https://[2606:4700::1111]/', 'https://[2606:4700::1111]/'],
    ['https://intranet/', 'https://intranet/'],
  ])('accepts %s', (raw, expected) => {
    expect(closed.normalizeUrl(raw, 'callback_url')).toBe(expected);
  });

  it.each([
    ['http://example.com/', 'must be an https address'],
    ['ftp://example.com/', 'must be an https address'],
    ['file:///etc/passwd', 'must be an https address'],
    ['javascript:alert(1)', 'must be an https address'],
    ['', 'must be an https address'],
    ['example.com/hook', 'must be an https address'],
    ['https://', 'must be an https address'],
    ['https://user@example.com/', 'must not contain a user name or password'],
    ['https://:secret@example.com/', 'must not contain a user name or password'],
    ['https://example.com./', 'must not have a host name that ends with a dot'],
    ['https://localhost/', 'must have a public host'],
    ['https://LOCALHOST:8443/', 'must have a public host'],
    ['https://a.localhost/', 'must have a public host'],
    ['https://127.0.0.1/', 'must have a public host'],
    ['https://2130706433/', 'must have a public host'],
    ['https://0x7f000001/', 'must have a public host'],
    ['https://0x7f.1/', 'must have a public host'],
    ['https://0177.0.0.1/', 'must have a public host'],
    ['https://127.1/', 'must have a public host'],
    ['https://0/', 'must have a public host'],
    ['https://10.1.2.3/', 'must have a public host'],
    ['https://172.31.255.255/', 'must have a public host'],
    ['https://192.168.0.1/', 'must have a public host'],
    ['https://169.254.169.254/latest/meta-data/', 'must have a public host'],
    ['https://100.100.100.200/', 'must have a public host'],
    ['https://224.0.0.1/', 'must have a public host'],
    ['https://255.255.255.255/', 'must have a public host'],
    ['https://[::]/', 'must have a public host'],
    ['https://[::1]/', 'must have a public host'],
    ['https://[::ffff:127.0.0.1]/', 'must have a public host'],
    ['https://[::ffff:10.0.0.1]/', 'must have a public host'],
    ['https://[::127.0.0.1]/', 'must have a public host'],
    ['https://[64:ff9b::7f00:1]/', 'must have a public host'],
    ['https://[64:ff9b:1::a00:1]/', 'must have a public host'],
    ['https://[2002:7f00:1::]/', 'must have a public host'],
    ['https://[2001::7f00:1]/', 'must have a public host'],
    ['https://[2001:db8::1]/', 'must have a public host'],
    ['https://[fc00::1]/', 'must have a public host'],
    ['https://[fd00:ec2::254]/', 'must have a public host'],
    ['https://[fe80::1]/', 'must have a public host'],
    ['https://[ff02::1]/', 'must have a public host'],
    [`https://example.com/${'a'.repeat(2048)}`, 'must not be longer than 2048 characters'],
  ])('refuses %s', (raw, reason) => {
    expect(() => closed.normalizeUrl(raw, 'callback_url')).toThrow(
      new InvalidInputError(`callback_url ${reason}`),
    );
  });

  it.each([
    ['http://127.0.0.1:3000/hook', 'http://127.0.0.1:3000/hook'],
    ['http://0x7f.1/', 'http://127.0.0.1/'],
    ['http://[::1]:80/', 'http://[::1]/'],
    ['http://localhost:3000/', 'http://localhost:3000/'],
    ['http://receiver:8080/', 'http://receiver:8080/'],
    ['http://HOOKS.example.test/', 'http://hooks.example.test/'],
  ])('accepts %s if its host is on the allow-list', (raw, expected) => {
    expect(open.normalizeUrl(raw, 'url')).toBe(expected);
  });

  it.each([
    'http://10.0.0.1/',
    'https://10.0.0.1/',
    'https://[::2]/',
    'https://[64:ff9b::7f00:1]/',
    'http://other.example.test/',
    'http://sub.receiver/',
    'http://user:pass@127.0.0.1/',
    'http://receiver./',
  ])('refuses %s if the allow-list does not name its host', (raw) => {
    expect(() => open.normalizeUrl(raw, 'url')).toThrow(InvalidInputError);
  });
});

describe('isEgressAllowEntry', () => {
  it.each([
    '10.0.0.0/8',
    '10.1.2.3',
    '::1',
    'fd00::/8',
    '2001:db8::1/128',
    'receiver',
    'a.b-c.test',
  ])('accepts %s', (entry) => expect(isEgressAllowEntry(entry)).toBe(true));
  it.each([
    '10.0.0.0/33',
    '10.0.0',
    '300.1.1.1',
    '::1/129',
    'http://receiver',
    'a b',
    'receiver.',
    '-a',
    '',
  ])('refuses "%s"', (entry) => {
    expect(isEgressAllowEntry(entry)).toBe(false);
    expect(() => new EgressPolicy([entry])).toThrow('neither a host name');
  });
});
