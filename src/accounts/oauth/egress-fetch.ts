import type { CustomFetch, CustomFetchOptions } from 'openid-client';
import {
  type EgressClient,
  type EgressResponse,
  toResponse,
} from '../../platform/egress/egress-client.ts';
import { countOutgoing } from '../../platform/metrics/count-outgoing.ts';

/**
 * Higher than the usual limit for responses, because key sets and discovery documents are larger.
 */
const MOST_BYTES = 512 * 1024;
const METHODS = ['GET', 'POST'] as const;

/**
 * `fetch` for openid-client through the egress guard. It refuses private networks when connecting,
 * does not follow redirects, and limits the time and size of responses. Responses are made
 * acceptable for the library: see `lenient`.
 */
export function egressFetch(egress: EgressClient): CustomFetch {
  return async (url, { method, headers, body, signal }) => {
    const known = METHODS.find((name) => name === method);
    if (!known)
      throw new Error(`openid-client sent the method ${method}; only GET and POST are supported`);
    const sent = bytesOf(body);
    const answer = await countOutgoing('OAuth', () =>
      egress.request(
        url,
        { method: known, headers, ...(sent ? { body: sent } : {}) },
        { maxBodyBytes: MOST_BYTES, ...(signal ? { signal } : {}) },
      ),
    );
    return toResponse(lenient(answer));
  };
}

/**
 * What openid-client refuses although servers send it:
 *
 * - `WWW-Authenticate` beside an error in the body (RFC 6749 section 5.2 requires both with status
 *   401). The library would report the header, and the reason is in the body.
 * - `null` and `""` for members that do not apply, such as `"scope": null`. They are left out.
 */
function lenient(answer: EgressResponse): EgressResponse {
  const { 'www-authenticate': _challenge, ...headers } = answer.headers;
  return { ...answer, headers, body: withoutEmptyMembers(answer.body) };
}

function withoutEmptyMembers(body: Buffer): Buffer {
  let value: unknown;
  try {
    value = JSON.parse(body.toString());
  } catch {
    // Not JSON: the library says so.
    return body;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return body;
  const members = Object.entries(value).filter(([, member]) => member !== null && member !== '');
  return Buffer.from(JSON.stringify(Object.fromEntries(members)));
}

function bytesOf(body: CustomFetchOptions['body']): Buffer | null {
  if (body === null || body === undefined) return null;
  if (typeof body === 'string' || body instanceof URLSearchParams)
    return Buffer.from(body.toString());
  throw new Error('openid-client sent a body that is neither text nor URLSearchParams');
}
