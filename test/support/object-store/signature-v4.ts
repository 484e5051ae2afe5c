import { createHash, createHmac } from 'node:crypto';
import type { StubRequest } from '../remote-stub/messages.ts';

/* AWS signature version 4, checked as S3's documents describe it, without the client's code. */

const hmac = (key: Buffer | string, text: string) =>
  createHmac('sha256', key).update(text).digest();
const sha256 = (contents: Buffer | string) => createHash('sha256').update(contents).digest('hex');
const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/;
const TIME = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/;
const MOST_SKEW_MS = 15 * 60_000;

/** Who may sign, and for which region. */
export interface Signers {
  accessKeyId: string;
  secretAccessKey: string;
  region: string;
}

const encoded = (text: string) =>
  encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/**
 * Checks the signature of a request.
 * @returns null, or the code with which S3 refuses it
 */
export function refusalOf(request: StubRequest, signers: Signers, nowMs: number): string | null {
  const { method, path, query, headers, body } = request;
  const header = (name: string) => [headers[name] ?? ''].flat().join(',');
  const match = AUTHORIZATION.exec(header('authorization'));
  if (!match) return 'AccessDenied';
  const [, key, day = '', region, names = '', signature] = match;
  if (key !== signers.accessKeyId) return 'InvalidAccessKeyId';
  if (region !== signers.region) return 'AuthorizationHeaderMalformed';
  const signed = names.split(';');
  const mustBeSigned = Object.keys(headers).filter((name) => name.startsWith('x-amz-'));
  if (![...mustBeSigned, 'host'].every((name) => signed.includes(name))) return 'AccessDenied';
  const time = header('x-amz-date');
  const at = Date.parse(time.replace(TIME, '$1-$2-$3T$4:$5:$6Z'));
  if (!(Math.abs(at - nowMs) < MOST_SKEW_MS)) return 'RequestTimeTooSkewed';
  if (header('x-amz-content-sha256') !== sha256(body)) return 'XAmzContentSHA256Mismatch';
  const parameters = [...query]
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort()
    .join('&');
  const lines = signed.map((name) => `${name}:${header(name).trim()}\n`).join('');
  const canonical = [method, path, parameters, lines, names, sha256(body)].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n');
  const signingKey = [region, 's3', 'aws4_request'].reduce(
    (before, text) => hmac(before, text),
    hmac(`AWS4${signers.secretAccessKey}`, day),
  );
  return hmac(signingKey, toSign).toString('hex') === signature ? null : 'SignatureDoesNotMatch';
}
