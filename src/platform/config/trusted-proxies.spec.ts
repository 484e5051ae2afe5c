import { trustedProxies } from './trusted-proxies.ts';

describe('TRUST_PROXY', () => {
  it.each([
    [undefined, false],
    ['false', false],
    ['0', false],
    ['1', 1],
    ['10.0.0.0/8, 2001:db8::1', ['10.0.0.0/8', '2001:db8::1']],
    ['loopback,192.0.2.7', ['loopback', '192.0.2.7']],
  ])('reads %j as %j', (value, expected) => {
    expect(trustedProxies.parse(value)).toEqual(expected);
  });

  it.each(['true', '11', '-1', '10.0.0.0/33', 'proxy.example.test', '10.0.0.1,', 'all'])(
    'refuses %j and names the allowed values',
    (value) => {
      const { error } = trustedProxies.safeParse(value);
      expect(error?.issues[0]?.message).toContain('must be the number of proxies');
    },
  );
});
