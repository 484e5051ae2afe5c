import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { EgressClient } from '../../platform/egress/egress-client.ts';
import { EgressPolicy } from '../../platform/egress/egress-policy.ts';
import { OauthClients } from './oauth-clients.ts';
import type { OauthRegistration } from '../../providers/port/sign-in/oauth-descriptor.ts';
import { readIdentity } from '../../providers/port/sign-in/oauth-identity.ts';
import { TestClock } from '../../../test/support/test-clock.ts';

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** The issuer rotates refresh tokens, and no longer reports the address of its user as verified. */
describe('OauthClients with an issuer whose user is no longer verified', () => {
  let issuer: Server;
  let url: string;
  let egress: EgressClient;
  let clients: OauthClients;
  let registration: OauthRegistration;
  let clock: TestClock;
  /** By how much the issuer's clock is ahead of the machine's. */
  let aheadSeconds = 0;
  beforeAll(async () => {
    issuer = createServer((request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(request.method === 'GET' ? metadata() : tokens()));
    });
    await new Promise<void>((resolve) => issuer.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(issuer.address() as AddressInfo).port}`;
    clock = new TestClock();
    egress = new EgressClient(new EgressPolicy(['127.0.0.0/8']));
    clients = new OauthClients(egress, clock);
    registration = {
      server: { issuer: url },
      clientId: 'carillon',
      authentication: { kind: 'secret', secret: 'secret', method: null },
    };
  });
  afterAll(async () => {
    await egress.onApplicationShutdown();
    await new Promise((resolve) => issuer.close(resolve));
  });

  const metadata = () => ({
    issuer: url,
    authorization_endpoint: `${url}/authorize`,
    token_endpoint: `${url}/token`,
  });
  const tokens = () => {
    const seconds = Math.floor(Date.now() / 1000) + aheadSeconds;
    const claims = {
      iss: url,
      aud: 'carillon',
      sub: '1',
      iat: seconds,
      nbf: seconds,
      exp: seconds + 60,
      email: 'ada@example.test',
      email_verified: false,
    };
    return {
      access_token: 'new access',
      refresh_token: 'new refresh',
      token_type: 'bearer',
      expires_in: 60,
      id_token: `${encoded({ alg: 'RS256' })}.${encoded(claims)}.${encoded({})}`,
    };
  };

  it('returns the new tokens although the user is no longer verified, because the old ones are used up', async () => {
    const credential = { kind: 'refresh-token', refreshToken: 'old refresh' } as const;
    const { tokens, claims } = await clients.obtain(registration, credential);
    expect(tokens).toMatchObject({ accessToken: 'new access', refreshToken: 'new refresh' });
    expect(readIdentity(claims ?? {})).toBe('unverified');
  });

  it.each([
    ['four minutes ahead of ours', 240, 0],
    ['four minutes behind ours', -240, 0],
    ['right while that of this machine is a day behind', 86_400, 86_400],
  ])('returns the new tokens if the clock of the issuer is %s', async (_, issuer, ours) => {
    aheadSeconds = issuer;
    clock.advance(ours * 1000);
    const credential = { kind: 'refresh-token', refreshToken: 'old refresh' } as const;
    const { tokens } = await clients.obtain(registration, credential);
    expect(tokens).toMatchObject({ refreshToken: 'new refresh' });
  });
});
