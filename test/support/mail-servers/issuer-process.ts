import http from 'node:http';
import Provider, { type Configuration } from 'oidc-provider';

/*
 * An OpenID provider (certified library) whose login page accepts any address and password. Any
 * loopback address may be a redirect address. Tests control the provider through `POST /test/…`.
 */

const port = Number(process.argv[2]);
const issuer = `http://127.0.0.1:${port}`;
/** Lifetime of access tokens in seconds. Tests change it. */
let accessTokenSeconds = 3_600;
/** Status that the token endpoint returns while it is out of order, or `null` while it works. */
let outage: number | null = null;
/** Error with which the token endpoint refuses every request, or `null` while it does not. */
let refusal: string | null = null;

const client = {
  client_id: 'app',
  client_secret: 'app-secret',
  redirect_uris: ['http://127.0.0.1/callback'],
  response_types: ['code' as const],
  grant_types: ['authorization_code', 'refresh_token'],
  application_type: 'native' as const,
  token_endpoint_auth_method: 'client_secret_basic' as const,
};
const configuration: Configuration = {
  clients: [
    client,
    {
      client_id: 'dovecot',
      client_secret: 'dovecot-secret',
      redirect_uris: [],
      response_types: [],
      grant_types: [],
    },
  ],
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
  scopes: ['openid', 'email', 'profile', 'offline_access'],
  conformIdTokenClaims: false,
  features: {
    devInteractions: { enabled: true },
    introspection: { enabled: true, allowedPolicy: () => true },
    revocation: { enabled: true, allowedPolicy: () => true },
  },
  pkce: { required: () => true },
  rotateRefreshToken: true,
  issueRefreshToken: async () => true,
  ttl: {
    AccessToken: () => accessTokenSeconds,
    RefreshToken: () => 86_400,
    AuthorizationCode: () => 60,
    IdToken: () => 3_600,
    Interaction: () => 3_600,
    Session: () => 86_400,
    Grant: () => 86_400,
  },
  cookies: { keys: ['test'] },
  findAccount: (_context, sub) => ({
    accountId: sub,
    claims: () => ({ sub, email: sub, email_verified: true, name: sub.split('@')[0] }),
  }),
};

const provider = new Provider(issuer, configuration);
const proto = (
  provider.Client as unknown as { prototype: { redirectUriAllowed(uri: string): boolean } }
).prototype;
proto.redirectUriAllowed = (uri) => ['127.0.0.1', 'localhost'].includes(new URL(uri).hostname);

/** Issues tokens for a user as if the user had signed in through the pages. */
async function mint(
  email: string,
): Promise<{ accessToken: string; refreshToken: string; expiresIn: number }> {
  const found = await provider.Client.find(client.client_id);
  if (!found) throw new Error('no client');
  const grant = new provider.Grant({ accountId: email, clientId: client.client_id });
  const scope = 'openid email profile offline_access';
  grant.addOIDCScope(scope);
  const grantId = await grant.save();
  const shared = { accountId: email, client: found, grantId, gty: 'authorization_code', scope };
  const accessToken = await new provider.AccessToken(shared).save();
  const refreshToken = await new provider.RefreshToken({
    ...shared,
    rotations: 0,
    iiat: Math.floor(Date.now() / 1000),
  } as ConstructorParameters<typeof provider.RefreshToken>[0]).save();
  return { accessToken, refreshToken, expiresIn: accessTokenSeconds };
}

async function read(request: http.IncomingMessage): Promise<Record<string, unknown>> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text ? (JSON.parse(text) as Record<string, unknown>) : {};
}

async function control(path: string, body: Record<string, unknown>): Promise<unknown> {
  if (path === '/test/tokens') return mint(String(body['email']));
  if (path === '/test/ttl') accessTokenSeconds = Number(body['seconds']);
  else if (path === '/test/outage')
    outage = body['status'] === null ? null : Number(body['status']);
  else if (path === '/test/refusal')
    refusal = body['error'] === null ? null : String(body['error']);
  else throw new Error(`no ${path}`);
  return {};
}

function refuse(response: http.ServerResponse, error: string): void {
  response.writeHead(401, {
    'content-type': 'application/json',
    'www-authenticate': 'Basic realm="token endpoint"',
  });
  response.end(JSON.stringify({ error }));
}

const handle = provider.callback();
let tokenRequests = 0;
http
  .createServer((request, response) => {
    const path = (request.url ?? '').split('?')[0] ?? '';
    if (path === '/test/requests') {
      response.end(JSON.stringify({ token: tokenRequests }));
    } else if (path.startsWith('/test/')) {
      read(request)
        .then((body) => control(path, body))
        .then(
          (answer) => response.end(JSON.stringify(answer)),
          (error: unknown) => response.writeHead(500).end(String(error)),
        );
    } else {
      if (path === '/token') tokenRequests += 1;
      if (path === '/token' && outage !== null) response.writeHead(outage).end('out of order');
      else if (path === '/token' && refusal !== null) refuse(response, refusal);
      else void handle(request, response);
    }
  })
  .listen(port, '127.0.0.1');
