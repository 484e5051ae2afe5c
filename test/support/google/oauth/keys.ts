import { createPublicKey, createSign, createVerify, generateKeyPairSync } from 'node:crypto';

/** A pair of RSA keys in PEM. */
export interface KeyPair {
  id: string;
  publicKey: string;
  privateKey: string;
}

let made = 0;

/** Makes keys of 2048 bits, as Google's are. */
export function keyPair(): KeyPair {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  made += 1;
  return { id: `key-${made}`, publicKey, privateKey };
}

/** The public key as a member of a key set. */
export function publicJwk({ id, publicKey }: KeyPair): object {
  const jwk = createPublicKey(publicKey).export({ format: 'jwk' });
  return { ...jwk, kid: id, use: 'sig', alg: 'RS256' };
}

/** Signs claims as a JWT with RS256. */
export function signedJwt(keys: KeyPair, claims: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part({ alg: 'RS256', kid: keys.id, typ: 'JWT' })}.${part(claims)}`;
  const signature = createSign('RSA-SHA256').update(text).sign(keys.privateKey, 'base64url');
  return `${text}.${signature}`;
}

/** Returns the claims of a JWT whose signature is right; null for any other text. */
export function verifiedClaims(publicKey: string, jwt: string): Record<string, unknown> | null {
  const claims = claimsOf(jwt);
  const [head = '', body = '', signature = ''] = jwt.split('.');
  const verifier = createVerify('RSA-SHA256').update(`${head}.${body}`);
  return claims && verifier.verify(publicKey, signature, 'base64url') ? claims : null;
}

/** Returns the claims of a JWT without any check; null for a text that is none. */
export function claimsOf(jwt: string): Record<string, unknown> | null {
  try {
    const [, body = ''] = jwt.split('.');
    return JSON.parse(Buffer.from(body, 'base64url').toString()) as Record<string, unknown>;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
