import type { NetworkInterfaceInfo } from 'node:os';
import { publicAddressesOf } from './public-addresses.service.ts';

const at = (address: string, internal = false): NetworkInterfaceInfo =>
  ({ address, internal, family: address.includes(':') ? 'IPv6' : 'IPv4' }) as NetworkInterfaceInfo;

describe('publicAddressesOf', () => {
  it('returns addresses that are reachable from the internet, without duplicates', () => {
    const interfaces = {
      lo: [at('127.0.0.1', true), at('::1', true)],
      eth0: [
        at('198.51.100.7'),
        at('10.1.2.3'),
        at('172.20.0.1'),
        at('fe80::1%eth0'),
        at('2001:db8::7'),
      ],
      eth1: [
        at('198.51.100.7'),
        at('192.168.1.1'),
        at('100.64.0.1'),
        at('fd00::1'),
        at('169.254.1.1'),
      ],
    };
    expect(publicAddressesOf(interfaces)).toEqual(['198.51.100.7', '2001:db8::7']);
  });
});
