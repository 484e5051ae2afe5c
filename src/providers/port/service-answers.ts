import { z } from 'zod';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import type { EgressClient } from '../../platform/egress/egress-client.ts';

/* What services with an API of JSON have in common (SendGrid, Zoom). */

/** The most that is repeated of what a service says. */
const MOST_WORDS = 500;

/** A service's words as they may be shown: one line, at most 500 characters. */
export function plainWords(words: string): string {
  return words
    .replaceAll(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, MOST_WORDS)
    .toWellFormed();
}

/** @returns undefined: it is no JSON */
export function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8')) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Schema of the address of a service in its settings: without a query and without a slash at the end. */
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
