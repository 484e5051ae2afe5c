import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { EgressClient } from '../../platform/egress/egress-client.ts';
import { EgressPolicy } from '../../platform/egress/egress-policy.ts';
import { SystemClock } from '../../platform/base/time/clock.ts';
import { OauthClients } from './oauth-clients.ts';
import type { OauthRegistration } from '../../providers/port/oauth-descriptor.ts';
import { readIdentity } from '../../providers/port/oauth-identity.ts';

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** The issuer rotates refresh tokens, and no longer reports the address of its user as verified. */
describe('OauthClients with an issuer whose user is no longer verified', () => {
  let issuer: Server;
  let url: string;
  let egress: EgressClient;
  let clients: OauthClients;
  let registration: OauthRegistration;
  beforeAll(async () => {
    issuer = createServer((request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(request.method === 'GET' ? metadata() : tokens()));
    });
    await new Promise<void>((resolve) => issuer.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(issuer.address() as AddressInfo).port}`;
    egress = new EgressClient(new EgressPolicy(['127.0.0.0/8']));
    clients = new OauthClients(egress, new SystemClock());
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
    const seconds = Math.floor(Date.now() / 1000);
    const claims = {
      iss: url, aud: 'carillon', sub: '1', iat: seconds, exp: seconds + 60, email: 'ada@example.test', email_verified: false,
    }; // prettier-ignore
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
});
