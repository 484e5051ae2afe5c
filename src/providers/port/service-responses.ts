import { z } from 'zod';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import type { EgressClient } from '../../platform/egress/egress-client.ts';

/* Helpers shared by the clients of JSON APIs (SendGrid, Zoom). */

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
