import type { ProviderErrorCode } from '../../platform/base/errors/provider-error.ts';
import type { SmtpReply } from './smtp-reply.ts';

/** What a reply answers: the greeting, EHLO or STARTTLS; AUTH; MAIL; RCPT; DATA; the content. */
export type SmtpStage = 'connect' | 'login' | 'sender' | 'recipient' | 'data' | 'message';

/** What a refusal means. */
export interface SmtpVerdict {
  code: ProviderErrorCode;
  /** When the reply names a time. */
  retryAfterSeconds: number | null;
}

/** Limits of a day (Gmail 5.4.5, Exchange Online 5.1.90, and 5.7.232 and 5.7.233 for whole tenants). */
const DAILY_CODES = new Set(['5.4.5', '5.1.90', '5.7.232', '5.7.233']);
const DAILY =
  /\bdaily\b.{0,60}\b(limit|quota|credits)|\b(limit|quota)\b.{0,60}\b(per day|daily|24[ -]?h)|submission ?quota ?exceeded|exceededmessagelimit|dailylimitexceeded|maximum credits exceeded/i;
/** Said of the sender without a period. */
const SENDING =
  /\b(sending|messaging|outgoing|outbound) (limit|quota)s?\b|\bexceeded (your|the|its) (sending|messaging|outgoing|outbound)\b|\bsender'?s?\b.{0,30}\bquota\b/i;
const TOO_FAST =
  /throttl|\brate[ -]?limit|sending rate|\bpeak\b|per (hour|minute|second)\b|\bhourly\b|concurrent|connection limit|slow down|too (many|much|fast)|unusual (rate|sending)/i;
/** "Too many" of what no waiting changes, or what the next attempt sends separately. */
const TOO_MANY_OTHERS = /too many (recipients|hops|received|invalid|errors?\b)/i;
/** Of refusals for good only what is surely about speed. */
const SURELY_TOO_FAST =
  /throttl|\brate[ -]?limit|sending rate|per (hour|minute|second)\b|\bhourly\b|concurrent connections|too many (messages|e?mails|connections|requests|concurrent|bad auth|(failed )?(login|auth))/i;
/** Exchange Online: refused for a while after repeated errors. */
const THROTTLED = /^5\.2\.25[1-5]$/;
const LATER = /temporar|try (again )?later|too many/i;
const AFTER =
  /\b(?:in|after|for|wait)\s+(?:about\s+|at least\s+)?(\d{1,5})\s*(s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)\b/i;

/**
 * What a refusing reply means. Decided by stage, enhanced code and text together: the three digits alone say too
 * little, and some enhanced codes mean the recipient with one server and the sender with another. Any refusal means that the message
 * was not sent.
 *
 * Daily limits come before the rule that 5xx is final. Only a server's refusal of the login itself is `auth-invalid`:
 * a server in trouble must not cost the user a new authentication.
 */
export function smtpVerdict(stage: SmtpStage, reply: SmtpReply): SmtpVerdict {
  const code = codeOf(stage, reply);
  const wait = ['temporary', 'rate-limited', 'quota-exhausted'].includes(code);
  return { code, retryAfterSeconds: wait ? secondsOf(reply.text) : null };
}

function codeOf(stage: SmtpStage, reply: SmtpReply): ProviderErrorCode {
  if (isTooBig(reply)) return isFinal(reply) ? 'rejected' : 'temporary';
  if (isDailyLimit(stage, reply)) return 'quota-exhausted';
  if (isTooFast(reply)) return 'rate-limited';
  // Neither is about the message: whom the server does not let in today it may let in tomorrow.
  if (stage === 'connect') return 'temporary';
  if (stage === 'login') return isLoginRefusal(reply) ? 'auth-invalid' : 'temporary';
  // Not logged in, as the server sees it; 5.7.57 is Exchange Online's. "Must issue STARTTLS" is about something else.
  if ((reply.code === 530 || reply.enhanced === '5.7.57') && !/tls|encrypt/i.test(reply.text))
    return 'auth-invalid';
  return isFinal(reply) ? 'rejected' : 'temporary';
}

/** 503 says that the session is in the wrong state, not that the message is refused. */
function isFinal({ code }: SmtpReply): boolean {
  return code >= 500 && code < 600 && code !== 503;
}

function isTooBig({ enhanced, text }: SmtpReply): boolean {
  return (
    enhanced === '5.3.4' ||
    enhanced === '4.3.4' ||
    /\bsize\b.{0,30}(exceed|limit|large)/i.test(text)
  );
}

function isDailyLimit(stage: SmtpStage, { enhanced, text }: SmtpReply): boolean {
  if (enhanced !== null && DAILY_CODES.has(enhanced)) return true;
  if (DAILY.test(text)) return true;
  if (SENDING.test(text)) return !TOO_FAST.test(text);
  // x.2.2 is a full mailbox (RFC 3463): the recipient's. What hosters call quota under x.7.1 is the sender's.
  return (
    stage !== 'recipient' &&
    enhanced?.endsWith('.7.1') === true &&
    /exceeded.{0,20}quota|quota.{0,20}exceeded/i.test(text)
  );
}

function isTooFast(reply: SmtpReply): boolean {
  const { code, enhanced, text } = reply;
  if (code === 432 || enhanced === '4.7.28' || (enhanced !== null && THROTTLED.test(enhanced)))
    return true;
  if (TOO_MANY_OTHERS.test(text)) return false;
  return (isFinal(reply) ? SURELY_TOO_FAST : TOO_FAST).test(text);
}

/** 53x, 525 and 550 in answer to AUTH; 50x is about the command, 554 about the client. */
function isLoginRefusal({ code, enhanced, text }: SmtpReply): boolean {
  if (code < 500 || LATER.test(text)) return false;
  return (
    code === 525 ||
    (code >= 530 && code < 540) ||
    (code === 550 && enhanced?.startsWith('5.7.') === true)
  );
}

function secondsOf(text: string): number | null {
  const [, number, unit = ''] = AFTER.exec(text) ?? [];
  if (number === undefined) return null;
  const factor = { s: 1, m: 60, h: 3_600 }[unit.charAt(0).toLowerCase()] ?? 1;
  return Number(number) * factor;
}
