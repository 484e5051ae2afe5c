import { ProviderError, type SendPhase } from '../../platform/base/errors/provider-error.ts';
import { CREDENTIALS_REFUSED } from './sandbox.settings.ts';

/*
 * Magic recipients and titles: the sandbox's equivalent of test card numbers
 * (docs/providers/sandbox.md). Everything here is pure; `sandbox.faults.ts` counts how often
 * something has failed.
 */

/** Domain of the magic recipients. All other addresses of the domain are ordinary. */
export const SANDBOX_DOMAIN = 'sandbox.test';

const MAX_DELAY_SECONDS = 60;
/** `retryAfterSeconds` of `rate-limited` errors. */
const RATE_LIMIT_SECONDS = 30;

/** The effect of a magic recipient, and the phase of the exchange in which it applies. */
export type Magic =
  | { kind: 'fail'; phase: SendPhase; times: number; error: () => ProviderError }
  | { kind: 'delay'; seconds: number }
  | { kind: 'refuse'; reason: string }
  | { kind: 'lose-answer'; delivered: boolean };

interface Failure {
  phase: SendPhase;
  make(email: string): ProviderError;
}

const FAILURES: Readonly<Record<string, Failure>> = {
  'auth-invalid': {
    phase: 'login',
    make: () => new ProviderError('auth-invalid', CREDENTIALS_REFUSED, { phase: 'login' }),
  },
  rejected: {
    phase: 'envelope',
    make(email) {
      const reason = `550 5.1.1 <${email}>: Recipient address rejected: User unknown`;
      return new ProviderError('rejected', reason, {
        phase: 'envelope',
        refused: [{ email, reason }],
      });
    },
  },
  quota: {
    phase: 'envelope',
    make: () =>
      new ProviderError('quota-exhausted', '550 5.4.5 Daily user sending quota exceeded', {
        phase: 'envelope',
      }),
  },
  'rate-limited': {
    phase: 'envelope',
    make: () =>
      new ProviderError('rate-limited', '450 4.7.28 Too many messages in a short time, slow down', {
        phase: 'envelope',
        retryAfterSeconds: RATE_LIMIT_SECONDS,
      }),
  },
  temporary: {
    phase: 'envelope',
    make: () =>
      new ProviderError('temporary', '451 4.3.2 System not accepting messages, try again later', {
        phase: 'envelope',
      }),
  },
  'content-rejected': {
    phase: 'content',
    make: () =>
      new ProviderError('rejected', '554 5.6.0 Message content rejected', { phase: 'content' }),
  },
};

const RECIPIENT = new RegExp(`^([a-z-]+)(?:\\+(\\d{1,6}))?@${SANDBOX_DOMAIN.replace('.', '\\.')}$`);

/**
 * The effect of a recipient, or `undefined` for an ordinary one.
 * @param email lower case
 */
export function magicOf(email: string): Magic | undefined {
  const [, word = '', number] = RECIPIENT.exec(email) ?? [];
  const failure = Object.hasOwn(FAILURES, word) ? FAILURES[word] : undefined;
  if (failure) {
    return {
      kind: 'fail',
      phase: failure.phase,
      times: number === undefined ? Infinity : Number(number),
      error: () => failure.make(email),
    };
  }
  switch (word) {
    case 'slow':
      return { kind: 'delay', seconds: Math.min(Number(number ?? 1), MAX_DELAY_SECONDS) };
    case 'partial':
      return {
        kind: 'refuse',
        reason: `550 5.1.1 <${email}>: Recipient address rejected: User unknown`,
      };
    case 'unknown':
      return { kind: 'lose-answer', delivered: true };
    case 'unknown-lost':
      return { kind: 'lose-answer', delivered: false };
    default:
      return undefined;
  }
}

const TITLE =
  /\[sandbox:(delete-)?(temporary|rate-limited|rejected|auth-invalid)(?:\+(\d{1,6}))?\]/;

const TITLE_ERRORS: Readonly<Record<string, (server: string) => ProviderError>> = {
  temporary: () => new ProviderError('temporary', '503 Service temporarily unavailable'),
  'rate-limited': () =>
    new ProviderError('rate-limited', '429 Too many requests', {
      retryAfterSeconds: RATE_LIMIT_SECONDS,
    }),
  rejected: (server) =>
    new ProviderError('rejected', `400 The ${server} server rejects this content`),
  'auth-invalid': () => new ProviderError('auth-invalid', '401 Invalid credentials'),
};

/**
 * The failure requested by the name of a calendar, folder or contact, the title of an event, or the
 * subject of a message.
 * @param operation `[sandbox:delete-…]` applies to deletions, all others to creating and updating
 * @param server kind of server named in the error text
 * @returns the error and how many times it occurs (`Infinity`: always), or `undefined` if the
 *   title requests none
 */
export function titleFault(
  title: unknown,
  operation: 'write' | 'delete',
  server: 'calendar' | 'mail' | 'contacts' = 'calendar',
): { times: number; error: ProviderError } | undefined {
  const [, prefix, word = '', number] = TITLE.exec(typeof title === 'string' ? title : '') ?? [];
  const make = TITLE_ERRORS[word];
  if (!make || (prefix !== undefined) !== (operation === 'delete')) return undefined;
  return { times: number === undefined ? Infinity : Number(number), error: make(server) };
}
