import { z } from 'zod';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import type {
  EgressClient,
  EgressOptions,
  EgressRequest,
  EgressResponse,
} from '../../platform/egress/egress-client.ts';
import { EgressError } from '../../platform/egress/egress-error.ts';
import { countOutgoing } from '../../platform/metrics/count-outgoing.ts';

/* Helpers shared by the clients of JSON APIs (SendGrid, Zoom, Google, Microsoft). */

/** How a request to a service is made, besides its content. */
export interface ServiceOptions extends EgressOptions {
  /** Name of the service, at the beginning of error texts. */
  service: string;
  /**
   * Error code if no response came although the request may have arrived: `temporary` for requests
   * that are safe to repeat.
   */
  lost: 'temporary' | 'outcome-unknown';
}

/**
 * Sends a request to a service and returns its response, whatever its status.
 * @throws {ProviderError} with the code `lost` if there is no response. A request that never
 *   reached the service is `temporary` in any case
 */
export async function askService(
  egress: EgressClient,
  url: string,
  request: EgressRequest,
  { service, lost, ...options }: ServiceOptions,
): Promise<EgressResponse> {
  try {
    return await countOutgoing(service, () => egress.request(url, request, options));
  } catch (error) {
    if (!(error instanceof EgressError)) throw error;
    const code = NEVER_SENT.includes(error.kind) ? 'temporary' : lost;
    throw new ProviderError(code, `${service}: ${error.message}`, { cause: error });
  }
}

/**
 * Failures before a connection exists: the service has not seen the request. `tls` is not one of
 * them, because a secure connection may also break later.
 */
const NEVER_SENT: readonly EgressError['kind'][] = ['blocked', 'dns', 'connect'];

/** Whether a request failed with this error before it was sent, because it had no connection. */
export function wasNeverSent({ cause }: Error): boolean {
  return cause instanceof EgressError && NEVER_SENT.includes(cause.kind);
}

/**
 * Whether a gateway lost the service's response (502, 504), so that the request may have taken
 * effect.
 */
export function isLostByGateway({ status }: Pick<EgressResponse, 'status'>): boolean {
  return status === 502 || status === 504;
}

/** Longest part of a service's message that is shown, in UTF-16 units. */
const MOST_WORDS = 500;

/**
 * A service's message as it may be shown: one line of at most 500 characters, without control
 * characters.
 */
export function shownText(words: string): string {
  return words
    .replaceAll(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, MOST_WORDS)
    .toWellFormed();
}

/** @returns the parsed JSON, or `undefined` if the body is not JSON */
export function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8')) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/**
 * Schema of a service's base URL in its settings. A query is refused; a trailing slash is removed.
 */
export function serviceAddress(egress: EgressClient) {
  return z.string().transform((raw, context) => {
    try {
      const url = egress.normalizeUrl(raw, '');
      if (!url.includes('?')) return url.replace(/\/+$/, '');
      context.addIssue({ code: 'custom', message: 'must not have a query' });
    } catch (error) {
      if (!(error instanceof InvalidInputError)) throw error;
      context.addIssue({ code: 'custom', message: error.message.trim() });
    }
    return z.NEVER;
  });
}
