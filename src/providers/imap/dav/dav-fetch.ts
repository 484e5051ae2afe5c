import {
  type EgressResponse,
  type EgressClient,
  type EgressMethod,
  toResponse,
} from '../../../platform/egress/egress-client.ts';
import { EgressError } from '../../../platform/egress/egress-error.ts';
import type { Clock } from '../../../platform/base/time/clock.ts';
import type { WorkThreads } from '../../../platform/threads/work-threads.ts';
import { asking, ProviderError } from '../../../platform/base/errors/provider-error.ts';
import { utf8Lines } from '../../../formats/ical/content-lines.ts';
import { registrableDomain } from '../servers/registrable-domain.ts';
import { countOutgoing } from '../../../platform/metrics/count-outgoing.ts';
import { DavAllowance } from './dav-allowance.ts';
import { davFailure, davSilence } from './dav-error.ts';

/** One of an account's DAV servers, with the login. */
export interface DavServer {
  kind: 'caldav' | 'carddav';
  /** As given in the settings. */
  url: string;
  login: { user: string } & ({ password: string } | { accessToken: string });
}

/** What requests to DAV servers need. */
export interface DavDependencies {
  egress: EgressClient;
  clock: Clock;
  /** Threads that parse the responses. */
  threads: WorkThreads;
}

/** Time limit for one whole exchange, in milliseconds. */
const DEADLINE_MS = 30_000;
/** Largest response: 32 MiB. */
export const MOST_BYTES = 32 * 1024 * 1024;
const MOST_REDIRECTS = 5;
const REDIRECTS = [301, 302, 307, 308];
/** Length of a refusal's body that is examined. */
const MOST_OF_A_REFUSAL = 4_096;

/** Names for error texts, names of the settings, and names for metrics. */
export const DAV_TEXTS = {
  caldav: { what: 'calendars', setting: 'caldav_url', service: 'CalDAV' },
  carddav: { what: 'address books', setting: 'carddav_url', service: 'CardDAV' },
} as const;

/**
 * Whether the login for one URL may be sent to another one. Both must have the same host, or be
 * siblings below the same parent domain with one owner (providers put users on numbered hosts). TLS
 * must not be lost.
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
 * A `fetch` for the DAV library that uses Carillon's egress client: guarded addresses, limits of
 * time and size, redirects only as permitted by `isTrustedMove`. Unlike the standard `fetch`, it
 * throws a `ProviderError` for failures and refusals.
 * @param pass statuses of refusals that are returned as responses
 * @param allowance limits of the work that the requests belong to; absent: `MOST_BYTES` for each
 *   response
 * @throws {DavAnswerTooLongError}
 */
export function davFetch(
  { egress, clock }: DavDependencies,
  server: DavServer,
  pass: readonly number[] = [],
  allowance: DavAllowance = new DavAllowance(MOST_BYTES, Infinity, null),
): typeof fetch {
  const words = DAV_TEXTS[server.kind];
  const { signal } = allowance;
  const ask = async (url: URL, init: RequestInit | undefined): Promise<EgressResponse> => {
    const body = init?.body;
    if (body !== undefined && body !== null && typeof body !== 'string')
      throw new TypeError('only text is sent to DAV servers');
    const headers = {
      ...Object.fromEntries(new Headers(init?.headers)),
      authorization: authorizationOf(server),
    };
    try {
      const request = {
        method: (init?.method ?? 'GET') as EgressMethod,
        headers,
        ...(body ? { body: Buffer.from(body) } : {}),
      };
      const limits = {
        deadlineMs: DEADLINE_MS,
        // One byte more than allowed, to detect a response that is too long.
        maxBodyBytes: allowance.next + 1,
        ...(signal ? { signal } : {}),
      };
      return await countOutgoing(words.service, () => egress.request(url.href, request, limits));
    } catch (error) {
      if (signal?.aborted)
        throw new ProviderError(
          'temporary',
          `The server of the ${words.what} did not answer in time`,
          {
            setting: words.setting,
          },
        );
      if (error instanceof EgressError) throw davSilence(error, words.what, words.setting);
      throw error;
    }
  };
  const asked = async (first: URL, init: RequestInit | undefined): Promise<Response> => {
    let url = first;
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
      // tsdav resolves relative URLs against this one, and a constructed response has none.
      const whole = { ...answer, body: utf8Lines(answer.body) };
      return Object.defineProperty(toResponse(whole), 'url', { value: url.href });
    }
  };
  const protocol = server.kind === 'caldav' ? 'CalDAV' : 'CardDAV';
  return (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
    return asking({ protocol, host: url.hostname, port }, () => asked(url, init));
  };
}
