import {
  type EgressAnswer,
  type EgressClient,
  type EgressMethod,
  toResponse,
} from '../../../platform/egress/egress-client.ts';
import { EgressError } from '../../../platform/egress/egress-error.ts';
import type { Clock } from '../../../platform/base/time/clock.ts';
import type { WorkThreads } from '../../../platform/threads/work-threads.ts';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import { registrableDomain } from '../registrable-domain.ts';
import { DavAllowance } from './dav-allowance.ts';
import { davFailure, davSilence } from './dav-error.ts';

/** Which of an account's DAV servers, and who logs in there. */
export interface DavServer {
  kind: 'caldav' | 'carddav';
  /** As it is in the settings. */
  url: string;
  login: { user: string } & ({ password: string } | { accessToken: string });
}

/** What a DAV server is asked with. */
export interface DavMeans {
  egress: EgressClient;
  clock: Clock;
  /** Read what it answers. */
  threads: WorkThreads;
}

/** For the whole of one exchange, in milliseconds. */
const DEADLINE_MS = 30_000;
/** More of an answer is not read: 32 MiB. */
export const MOST_BYTES = 32 * 1024 * 1024;
const MOST_REDIRECTS = 5;
const REDIRECTS = [301, 302, 307, 308];
/** A refusal's words are looked at so far. */
const MOST_OF_A_REFUSAL = 4_096;

/** What is called like the settings are. */
export const WORDS = {
  caldav: { what: 'calendars', setting: 'caldav_url' },
  carddav: { what: 'address books', setting: 'carddav_url' },
} as const;

/**
 * Whether the login of one address may be shown to another: the same host or a sibling below the same parent, where both are of
 * one owner (providers keep users on numbered hosts), and never without TLS when the first one has it.
 */
export function isTrustedMove(from: URL, to: URL): boolean {
  if (to.protocol !== from.protocol && to.protocol !== 'https:') return false;
  if (to.hostname === from.hostname) return to.port === from.port || to.protocol === 'https:';
  const owner = registrableDomain(from.hostname);
  return (
    owner !== null &&
    owner === registrableDomain(to.hostname) &&
    parentOf(from.hostname) === parentOf(to.hostname)
  );
}

const parentOf = (host: string): string => host.slice(host.indexOf('.') + 1);

/** Basic credentials in UTF-8 (RFC 7617), or a bearer token. */
function authorizationOf({ login }: DavServer): string {
  if ('accessToken' in login) return `Bearer ${login.accessToken}`;
  return `Basic ${Buffer.from(`${login.user}:${login.password}`).toString('base64')}`;
}

/**
 * A `fetch` for the DAV library that goes through the one outgoing client: guarded addresses, limits of time and size,
 * redirects within `isTrustedMove` only. Unlike the real one it throws what went wrong as `ProviderError`.
 * @param pass statuses of refusals that the caller wants to see as answers
 * @param allowance of the work the requests belong to; absent: `MOST_BYTES` for each answer
 * @throws {DavAnswerTooLongError}
 */
export function davFetch(
  { egress, clock }: DavMeans,
  server: DavServer,
  pass: readonly number[] = [],
  allowance: DavAllowance = new DavAllowance(MOST_BYTES, Infinity, null),
): typeof fetch {
  const words = WORDS[server.kind];
  const { signal } = allowance;
  const ask = async (url: URL, init: RequestInit | undefined): Promise<EgressAnswer> => {
    const body = init?.body;
    if (body !== undefined && body !== null && typeof body !== 'string')
      throw new TypeError('only text is sent to DAV servers');
    const headers = {
      ...Object.fromEntries(new Headers(init?.headers)),
      authorization: authorizationOf(server),
    };
    try {
      return await egress.request(
        url.href,
        {
          method: (init?.method ?? 'GET') as EgressMethod,
          headers,
          ...(body ? { body: Buffer.from(body) } : {}),
        },
        {
          deadlineMs: DEADLINE_MS,
          // One more than allowed, to tell an answer that is too long from one that just fits.
          maxBodyBytes: allowance.next + 1,
          ...(signal ? { signal } : {}),
        },
      );
    } catch (error) {
      if (signal?.aborted)
        throw new ProviderError(
          'temporary',
          `The server of the ${words.what} does not answer in time`,
          {
            setting: words.setting,
          },
        );
      if (error instanceof EgressError) throw davSilence(error, words.what, words.setting);
      throw error;
    }
  };
  return async (input, init) => {
    let url = new URL(input instanceof Request ? input.url : input);
    for (let hop = 0; ; hop++) {
      const answer = await ask(url, init);
      allowance.spend(answer.body.length);
      const location = REDIRECTS.includes(answer.status) ? answer.headers['location'] : undefined;
      if (
        typeof location === 'string' &&
        hop < MOST_REDIRECTS &&
        URL.canParse(location, url.href)
      ) {
        const next = new URL(location, url);
        if (!isTrustedMove(url, next)) {
          throw new ProviderError(
            'rejected',
            `The server of the ${words.what} redirects to another host`,
            {
              setting: words.setting,
            },
          );
        }
        url = next;
        continue;
      }
      if (answer.status >= 300 && !pass.includes(answer.status)) {
        throw davFailure({
          ...words,
          status: answer.status,
          body: answer.body.subarray(0, MOST_OF_A_REFUSAL).toString(),
          retryAfter: answer.retryAfter,
          now: clock.now(),
        });
      }
      // tsdav takes relative addresses from here, and a made response has none.
      return Object.defineProperty(toResponse(answer), 'url', { value: url.href });
    }
  };
}
