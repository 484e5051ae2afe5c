import { createPrivateKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto';
import type { Json } from '../http/types.ts';

const encode = (value: Json) => Buffer.from(JSON.stringify(value)).toString('base64url');
const decode = (part: string) =>
  JSON.parse(Buffer.from(part, 'base64url').toString('utf8')) as Json;

let key: { privateKey: KeyObject; publicKey: KeyObject } | null = null;

/** The key that signs id tokens. It is made once per process. */
export function signingKey(): { privateKey: KeyObject; publicKey: KeyObject; kid: string } {
  key ??= generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { ...key, kid: 'stub-key' };
}

/** Public keys in the form of a JWKS document. */
export function keySet(): Json {
  const { publicKey, kid } = signingKey();
  return { keys: [{ ...publicKey.export({ format: 'jwk' }), use: 'sig', kid, alg: 'RS256' }] };
}

/** A token signed with RS256. */
export function signJwt(claims: Json, privateKey?: string, header: Json = {}): string {
  const { kid, privateKey: own } = signingKey();
  const using = privateKey === undefined ? own : createPrivateKey(privateKey);
  const named = privateKey === undefined ? { kid } : {};
  const text = `${encode({ typ: 'JWT', alg: 'RS256', ...named, ...header })}.${encode(claims)}`;
  return `${text}.${sign('sha256', Buffer.from(text), using).toString('base64url')}`;
}

/** The parts of a token, unchecked; `null` if it is none. */
export function readJwt(token: string): { header: Json; claims: Json } | null {
  const [header, claims, signature] = token.split('.');
  if (header === undefined || claims === undefined || signature === undefined) return null;
  try {
    return { header: decode(header), claims: decode(claims) };
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** Whether `publicKey` signed the token with RS256 or PS256. */
export function isSignedBy(token: string, publicKey: KeyObject): boolean {
  const end = token.lastIndexOf('.');
  const alg = readJwt(token)?.header['alg'];
  if (alg !== 'RS256' && alg !== 'PS256') return false;
  // 6: RSA_PKCS1_PSS_PADDING, 1: RSA_PKCS1_PADDING.
  const padding = alg === 'PS256' ? { padding: 6, saltLength: 32 } : { padding: 1 };
  const signature = Buffer.from(token.slice(end + 1), 'base64url');
  return verify(
    'sha256',
    Buffer.from(token.slice(0, end)),
    { key: publicKey, ...padding },
    signature,
  );
}
