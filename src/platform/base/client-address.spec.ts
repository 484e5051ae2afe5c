import { clientAddress, clientKey } from './client-address.ts';

const from = (ip: string | undefined, remoteAddress?: string) =>
  clientAddress({ ip, socket: { remoteAddress } });

describe('clientAddress', () => {
  it('returns the address that the framework found, with IPv4 addresses written as such', () => {
    expect(from('198.51.100.7', '10.0.0.1')).toBe('198.51.100.7');
    expect(from('::ffff:198.51.100.7', '10.0.0.1')).toBe('198.51.100.7');
    expect(from('2001:db8::7', '10.0.0.1')).toBe('2001:db8::7');
  });

  it('returns the address of the connection if a proxy forwarded text that is no address', () => {
    expect(from("x'; drop table", '::ffff:10.0.0.1')).toBe('10.0.0.1');
    expect(from('198.51.100.7:443', '10.0.0.1')).toBe('10.0.0.1');
    expect(from(undefined, '10.0.0.1')).toBe('10.0.0.1');
  });

  it('returns the empty string if the connection is closed', () => {
    expect(from(undefined)).toBe('');
  });
});

describe('clientKey', () => {
  it.each([
    ['198.51.100.7', '198.51.100.7'],
    ['2001:db8:0:1:2:3:4:5', '2001:db8:0:1::/64'],
    ['2001:0DB8:0000:0001::9', '2001:db8:0:1::/64'],
    ['2001:db8::9', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['1:2:3::5:6:7:8', '1:2:3:0::/64'],
    ['1:2::4:5:6:7:8', '1:2:0:4::/64'],
    ['', ''],
  ])('turns %j into the key %j', (address, key) => {
    expect(clientKey(address)).toBe(key);
  });
});
