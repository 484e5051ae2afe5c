import type { Notice } from './kit/layout.ts';
import { counted } from './kit/figures.ts';
import { address } from './kit/table.ts';

/** What a page says after a form was sent. The address has only the code and a number. */
const TEXTS = {
  'jobs-retried': (n: number) => `${counted(n, 'job')} due again.`,
  'jobs-cancelled': (n: number) => `${counted(n, 'job')} cancelled.`,
  'jobs-released': (n: number) => `${counted(n, 'job')} released from quarantine.`,
  'job-settled': () => 'The outcome is decided.',
  'sending-paused': () => 'Sending is paused. Messages wait until you resume it.',
  'sending-resumed': () => 'Sending is resumed. Waiting messages are due now.',
  'token-revoked': () => 'The access token is revoked.',
  'events-replayed': (n: number) => `${counted(n, 'event')} queued for delivery.`,
  'webhook-stopped': () => 'Deliveries have stopped. Events stay stored.',
  'webhook-activated': () => 'The webhook is active. It gets what it missed.',
  suspended: () => 'The application is suspended. Its requests are refused.',
  activated: () => 'The suspension has ended.',
  'contact-changed': () => 'The contact address is changed.',
  'ceiling-changed': () => 'The ceiling is changed. All processes follow within ten seconds.',
  deleting: () => 'The deletion has begun. This page shows its progress.',
  'role-changed': () => 'The role is changed. The sessions of the operator have ended.',
  'operator-disabled': () => 'The operator is disabled. All sessions have ended.',
  'operator-enabled': () => 'The operator is enabled.',
  'operator-removed': () => 'The operator is removed.',
  'operator-token-revoked': () => 'The token is revoked.',
  'password-changed': () => 'Your password is changed. Your other sessions have ended.',
  'instance-confirmed': () =>
    'The database belongs to this installation. Its workers start within seconds.',
  'level-changed': () => 'All processes follow within five seconds.',
} as const satisfies Readonly<Record<string, (n: number) => string>>;

export type NoticeCode = keyof typeof TEXTS;

/** The address of a page that says what was done. @param n how many objects were changed */
export function noticePath(path: string, code: NoticeCode, n?: number): string {
  const query = address('', { done: code, n: n === undefined ? undefined : String(n) });
  return path.includes('?') ? `${path}&${query.slice(1)}` : path + query;
}

const LONGEST_NUMBER = 9;

/** The notice that an address asks for; `null` if it asks for none, or for an unknown one. */
export function noticeIn(query: Readonly<Record<string, unknown>>): Notice | null {
  const { done, n } = query;
  if (typeof done !== 'string' || !Object.hasOwn(TEXTS, done)) return null;
  const number = typeof n === 'string' && n.length <= LONGEST_NUMBER ? Number(n) : 0;
  return { tone: 'good', text: TEXTS[done as NoticeCode](Number.isInteger(number) ? number : 0) };
}
