import { createHash, createPrivateKey, sign, X509Certificate } from 'node:crypto';
import type * as oidc from 'openid-client';
import { openidClient } from './openid-client.ts';
import type {
  ClientAuthentication,
  OauthCredential,
} from '../../providers/port/sign-in/oauth-descriptor.ts';
import { OauthError } from './oauth-error.ts';

/** Life of an assertion in seconds: the longest that Google accepts. */
const ASSERTION_SECONDS = 3_600;

/**
 * How openid-client authenticates the client at the token endpoint.
 * @throws {OauthError} `misconfigured` if the key or certificate cannot be read
 */
export async function clientAuthOf(authentication: ClientAuthentication): Promise<oidc.ClientAuth> {
  switch (authentication.kind) {
    case 'none':
      return openidClient().None();
    case 'credential':
      return () => undefined;
    case 'secret':
      return bySecret(authentication);
    case 'certificate':
      return byCertificate(authentication);
  }
}

function bySecret({
  secret,
  method,
}: Extract<ClientAuthentication, { kind: 'secret' }>): oidc.ClientAuth {
  const basic = openidClient().ClientSecretBasic(secret);
  const post = openidClient().ClientSecretPost(secret);
  return (server, ...rest) => {
    const known = server.token_endpoint_auth_methods_supported;
    const usual =
      known && !known.includes('client_secret_basic')
        ? 'client_secret_post'
        : 'client_secret_basic';
    const chosen = (method ?? usual) === 'client_secret_post' ? post : basic;
    chosen(server, ...rest);
  };
}

async function byCertificate({
  privateKey,
  certificate,
}: Extract<ClientAuthentication, { kind: 'certificate' }>): Promise<oidc.ClientAuth> {
  const { key, thumbprint } = await readPair(privateKey, certificate);
  return (server, ...rest) =>
    openidClient().PrivateKeyJwt(key, {
      [openidClient().modifyAssertion]: (header, payload) => {
        header['x5t#S256'] = thumbprint;
        // Microsoft does not accept the issuer as the audience.
        if (server.token_endpoint) payload['aud'] = server.token_endpoint;
      },
    })(server, ...rest);
}

async function readPair(privateKey: string, certificate: string) {
  try {
    const { raw } = new X509Certificate(certificate);
    const der = createPrivateKey(privateKey).export({ type: 'pkcs8', format: 'der' });
    const algorithm = { name: 'RSA-PSS', hash: 'SHA-256' };
    const key = await crypto.subtle.importKey('pkcs8', new Uint8Array(der), algorithm, false, [
      'sign',
    ]);
    return { key, thumbprint: createHash('sha256').update(raw).digest('base64url') };
  } catch {
    throw new OauthError(
      'misconfigured',
      'the certificate of the client or its private key cannot be read: both must be PEM texts of an RSA key',
    );
  }
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/**
 * A signed assertion (RFC 7523 section 2.1, RS256).
 * @param audience URL of the token endpoint
 * @param nowMs Unix milliseconds
 * @throws {OauthError} `misconfigured` if the key cannot be read
 */
export function jwtAssertion(
  credential: Extract<OauthCredential, { kind: 'jwt-bearer' }>,
  audience: string,
  nowMs: number,
): string {
  const { issuer, subject, keyId, privateKey, scope } = credential;
  const iat = Math.floor(nowMs / 1000);
  const header = { alg: 'RS256', typ: 'JWT', ...(keyId ? { kid: keyId } : {}) };
  const claims = {
    iss: issuer,
    sub: subject,
    scope,
    aud: audience,
    iat,
    exp: iat + ASSERTION_SECONDS,
  };
  const content = `${encoded(header)}.${encoded(claims)}`;
  try {
    return `${content}.${sign('RSA-SHA256', Buffer.from(content), privateKey).toString('base64url')}`;
  } catch {
    throw new OauthError('misconfigured', 'the private key of the service account cannot be read');
  }
}
