import type { CustomFetch, CustomFetchOptions } from 'openid-client';
import { type EgressClient, toResponse } from '../../platform/egress/egress-client.ts';

/** Key sets and discovery documents are larger than what other answers are read for. */
const MOST_BYTES = 512 * 1024;
const METHODS = ['GET', 'POST'] as const;

/**
 * `fetch` for openid-client that goes through the egress guard: private networks are refused at connect time, no redirect
 * is followed, answers are limited in time and length.
 */
export function egressFetch(egress: EgressClient): CustomFetch {
  return async (url, { method, headers, body, signal }) => {
    const known = METHODS.find((name) => name === method);
    if (!known) throw new Error(`openid-client asked for ${method}`);
    const sent = bytesOf(body);
    const answer = await egress.request(
      url,
      { method: known, headers, ...(sent ? { body: sent } : {}) },
      { maxBodyBytes: MOST_BYTES, ...(signal ? { signal } : {}) },
    );
    return toResponse(answer);
  };
}

function bytesOf(body: CustomFetchOptions['body']): Buffer | null {
  if (body === null || body === undefined) return null;
  if (typeof body === 'string' || body instanceof URLSearchParams)
    return Buffer.from(body.toString());
  throw new Error('openid-client sent a body of another kind');
}
