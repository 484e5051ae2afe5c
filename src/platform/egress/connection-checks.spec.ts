import { ConnectionChecks, type CheckTarget, TooManyChecksError } from './connection-checks.ts';

const limits = { perProcess: 5, perApplication: 3, perAddress: 2, perHost: 2 };
const never = () => new Promise<never>(() => undefined);

describe('ConnectionChecks', () => {
  const refusalOf = async (checks: ConnectionChecks, place: CheckTarget): Promise<string> =>
    checks
      .run(place, () => Promise.resolve('ran'))
      .catch((error: unknown) =>
        error instanceof TooManyChecksError ? error.message : 'another error',
      );
  const begin = (checks: ConnectionChecks, ...places: CheckTarget[]) => {
    for (const place of places) void checks.run(place, never);
  };

  it.each([
    [
      'the process',
      ['a', 'b', 'c', 'd', 'e'].map((applicationId) => ({ applicationId })),
      'on this server',
    ],
    [
      'an application',
      ['x', 'x', 'x'].map((applicationId) => ({ applicationId })),
      'for this application',
    ],
    [
      'a client address, where all addresses of one IPv6 network count as one',
      ['2001:DB8:0:1::1', '2001:db8::1:0:0:0:2'].map((clientAddress) => ({
        applicationId: 'y',
        clientAddress,
      })),
      'for this client address',
    ],
    [
      'a server',
      ['MX.test', 'mx.test'].map((host) => ({ applicationId: 'y', hosts: [host] })),
      'at this mail server',
    ],
  ] as [string, CheckTarget[], string][])(
    'refuses a check beyond the limit of %s',
    async (_what, running, words) => {
      const checks = new ConnectionChecks(limits);
      begin(checks, ...running);
      const place = {
        applicationId: 'x',
        clientAddress: '2001:db8:0:1::3',
        hosts: ['mx.test', 'other.test'],
      };
      expect(await refusalOf(checks, place)).toContain(words);
    },
  );

  it('frees the slot of a check that has ended, even with an error', async () => {
    const checks = new ConnectionChecks({ ...limits, perProcess: 1 });
    const place = { applicationId: 'x', clientAddress: '192.0.2.1', hosts: ['mx.test'] };
    await expect(checks.run(place, () => Promise.reject(new Error('failed')))).rejects.toThrow(
      'failed',
    );
    expect(await refusalOf(checks, place)).toBe('ran');
  });

  it('lets clients at other addresses continue when one address has reached its limit', async () => {
    const checks = new ConnectionChecks(limits);
    begin(
      checks,
      ...['192.0.2.1', '::ffff:192.0.2.1'].map((clientAddress) => ({
        applicationId: 'y',
        clientAddress,
      })),
    );
    expect(await refusalOf(checks, { applicationId: 'y', clientAddress: '192.0.2.1' })).toContain(
      'address',
    );
    expect(await refusalOf(checks, { applicationId: 'y', clientAddress: '192.0.2.2' })).toBe('ran');
  });

  it('names in its refusal the time after which to try again', async () => {
    const checks = new ConnectionChecks({ ...limits, perProcess: 0 });
    await expect(checks.run({ applicationId: 'x' }, never)).rejects.toMatchObject({
      kind: 'rate-limited',
      details: { retryAfterSeconds: 5 },
    });
  });
});
