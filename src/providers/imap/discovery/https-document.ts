import type { EgressAnswer, EgressOptions } from '../../../platform/egress/egress-client.ts';

/** Fetches by the guarded client of this server, with what is left of the time. */
export type HttpsGet = (
  url: string,
  options: Pick<EgressOptions, 'maxBodyBytes'>,
) => Promise<EgressAnswer>;

const MOST_REDIRECTS = 3;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** Where a request ended up. */
export interface HttpsAnswer extends EgressAnswer {
  url: string;
}

/**
 * Follows redirects, to https addresses only: each is checked by the guard like the first one.
 * @returns null: no answer, or a chain that leads nowhere
 */
export async function getByHttps(
  url: string,
  maxBodyBytes: number,
  get: HttpsGet,
): Promise<HttpsAnswer | null> {
  let next = url;
  for (let hop = 0; hop <= MOST_REDIRECTS; hop += 1) {
    // Most of the addresses that are asked do not exist.
    const answer = await get(next, { maxBodyBytes }).catch(() => null);
    if (!answer || !REDIRECTS.has(answer.status)) return answer && { ...answer, url: next };
    const { location } = answer.headers;
    if (typeof location !== 'string' || !URL.canParse(location, next)) return null;
    const target = new URL(location, next);
    // What comes by http can come from anybody.
    if (target.protocol !== new URL(url).protocol) return null;
    next = target.href;
  }
  return null;
}

/** @returns null: there is no such document, or it is larger than `maxBytes` */
export async function fetchDocument(
  url: string,
  maxBytes: number,
  get: HttpsGet,
): Promise<string | null> {
  const answer = await getByHttps(url, maxBytes + 1, get);
  if (answer?.status !== 200 || answer.body.length > maxBytes) return null;
  return answer.body.toString('utf8');
}
