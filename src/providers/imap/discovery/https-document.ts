import type { EgressResponse, EgressOptions } from '../../../platform/egress/egress-client.ts';

/** Fetches a URL with this server's egress client, within the remaining time. */
export type HttpsGet = (
  url: string,
  options: Pick<EgressOptions, 'maxBodyBytes'>,
) => Promise<EgressResponse>;

const MOST_REDIRECTS = 3;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** A response, with the URL after redirects. */
export interface HttpsAnswer extends EgressResponse {
  url: string;
}

/**
 * Fetches a URL and follows redirects to other https URLs only. The egress guard checks each of
 * them like the first one.
 * @returns `null` if there is no response, or the redirects do not end at a usable URL
 */
export async function getByHttps(
  url: string,
  maxBodyBytes: number,
  get: HttpsGet,
): Promise<HttpsAnswer | null> {
  let next = url;
  for (let hop = 0; hop <= MOST_REDIRECTS; hop += 1) {
    // Most of these URLs do not exist.
    const answer = await get(next, { maxBodyBytes }).catch(() => null);
    if (!answer || !REDIRECTS.has(answer.status)) return answer && { ...answer, url: next };
    const { location } = answer.headers;
    if (typeof location !== 'string' || !URL.canParse(location, next)) return null;
    const target = new URL(location, next);
    // A plain http response could come from anyone on the network.
    if (target.protocol !== new URL(url).protocol) return null;
    next = target.href;
  }
  return null;
}

/** @returns `null` if there is no such document, or it is larger than `maxBytes` */
export async function fetchDocument(
  url: string,
  maxBytes: number,
  get: HttpsGet,
): Promise<string | null> {
  const answer = await getByHttps(url, maxBytes + 1, get);
  if (answer?.status !== 200 || answer.body.length > maxBytes) return null;
  return answer.body.toString('utf8');
}
