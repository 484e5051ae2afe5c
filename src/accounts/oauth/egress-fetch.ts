import type { CustomFetch, CustomFetchOptions } from 'openid-client';
import { type EgressClient, toResponse } from '../../platform/egress/egress-client.ts';
import { countOutgoing } from '../../platform/metrics/count-outgoing.ts';

/**
 * Higher than the usual limit for responses, because key sets and discovery documents are larger.
 */
const MOST_BYTES = 512 * 1024;
const METHODS = ['GET', 'POST'] as const;

/**
 * `fetch` for openid-client through the egress guard. It refuses private networks when connecting,
 * does not follow redirects, and limits the time and size of responses.
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
    return toResponse(answer);
  };
}

function bytesOf(body: CustomFetchOptions['body']): Buffer | null {
  if (body === null || body === undefined) return null;
  if (typeof body === 'string' || body instanceof URLSearchParams)
    return Buffer.from(body.toString());
  throw new Error('openid-client sent a body that is neither text nor URLSearchParams');
}
