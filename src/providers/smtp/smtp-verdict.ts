import type { ProviderErrorCode } from '../../platform/base/errors/provider-error.ts';
import type { SmtpReply } from './smtp-reply.ts';

/**
 * The command that a reply belongs to: `connect` is the greeting, EHLO or STARTTLS; `login` AUTH;
 * `sender` MAIL; `recipient` RCPT; `data` DATA; `message` the content.
 */
export type SmtpStage = 'connect' | 'login' | 'sender' | 'recipient' | 'data' | 'message';

/** The meaning of a refusing reply. */
export interface SmtpVerdict {
  code: ProviderErrorCode;
  /** Set if the reply names a time. */
  retryAfterSeconds: number | null;
}

/** Daily limits: Gmail 5.4.5, Exchange Online 5.1.90, and 5.7.232 and 5.7.233 for whole tenants. */
const DAILY_CODES = new Set(['5.4.5', '5.1.90', '5.7.232', '5.7.233']);
const DAILY =
  /\bdaily\b.{0,60}\b(limit|quota|credits)|\b(limit|quota)\b.{0,60}\b(per day|daily|24[ -]?h)|submission ?quota ?exceeded|exceededmessagelimit|dailylimitexceeded|maximum credits exceeded/i;
/** Texts about a limit of the sender that name no period. */
const SENDING =
  /\b(sending|messaging|outgoing|outbound) (limit|quota)s?\b|\bexceeded (your|the|its) (sending|messaging|outgoing|outbound)\b|\bsender'?s?\b.{0,30}\bquota\b/i;
const TOO_FAST =
  /throttl|\brate[ -]?limit|sending rate|\bpeak\b|per (hour|minute|second)\b|\bhourly\b|concurrent|connection limit|slow down|too (many|much|fast)|unusual (rate|sending)/i;
/**
 * "Too many" of something that waiting does not change, or that the next attempt sends separately.
 */
const TOO_MANY_OTHERS = /too many (recipients|hops|received|invalid|errors?\b)/i;
/** In a final refusal, only texts that are certainly about speed. */
const SURELY_TOO_FAST =
  /throttl|\brate[ -]?limit|sending rate|per (hour|minute|second)\b|\bhourly\b|concurrent connections|too many (messages|e?mails|connections|requests|concurrent|bad auth|(failed )?(login|auth))/i;
/** Exchange Online: refused for a while after repeated errors. */
const THROTTLED = /^5\.2\.25[1-5]$/;
const LATER = /temporar|try (again )?later|too many/i;
const AFTER =
  /\b(?:in|after|for|wait)\s+(?:about\s+|at least\s+)?(\d{1,5})\s*(s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)\b/i;

/**
 * Decides what a refusing reply means, from the stage, the enhanced code and the text together. The
 * three digits alone are too coarse, and some enhanced codes mean the recipient on one server and
 * the sender on another. Every refusal means that the message was not sent.
 *
 * Daily limits are checked before the rule that 5xx is final. Only an explicit refusal of the login
 * is `auth-invalid`: a server with a fault must not force the user to authenticate again.
 */
export function smtpVerdict(stage: SmtpStage, reply: SmtpReply): SmtpVerdict {
  const code = codeOf(stage, reply);
  const wait = ['temporary', 'rate-limited', 'quota-exhausted'].includes(code);
  return { code, retryAfterSeconds: wait ? secondsOf(reply.text) : null };
}

function codeOf(stage: SmtpStage, reply: SmtpReply): ProviderErrorCode {
  if (stage === 'recipient' && isOneTooMany(reply)) return 'temporary';
  if (isTooBig(reply)) return isFinal(reply) ? 'rejected' : 'temporary';
  if (isDailyLimit(stage, reply)) return 'quota-exhausted';
  if (isTooFast(reply)) return 'rate-limited';
  // Neither stage is about the message. A server that refuses the client today may accept it
  // tomorrow.
  if (stage === 'connect') return 'temporary';
  if (stage === 'login') return isLoginRefusal(reply) ? 'auth-invalid' : 'temporary';
  // The server regards the session as not logged in; 5.7.57 is Exchange Online's code. "Must issue
  // STARTTLS" means something else.
  if ((reply.code === 530 || reply.enhanced === '5.7.57') && !/tls|encrypt/i.test(reply.text))
    return 'auth-invalid';
  return isFinal(reply) ? 'rejected' : 'temporary';
}

/** A full mailbox, which plain 552 means as well (RFC 5321 section 4.2.2). */
const FULL = /\b(mailbox|quota|storage|disk|space|full)\b/i;

/**
 * Whether the transaction has too many recipients, so that this one has to be sent in another. The
 * code is X.5.3 (RFC 3463), or 552 without an enhanced code: servers send it for 452 (RFC 5321
 * section 4.5.3.1.10).
 */
function isOneTooMany({ code, enhanced, text }: SmtpReply): boolean {
  if (enhanced !== null) return enhanced.endsWith('.5.3');
  return /too many recipients/i.test(text) || (code === 552 && !FULL.test(text));
}

/** 503 means that the session is in the wrong state, not that the message is refused. */
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
  // x.2.2 is a full mailbox of the recipient (RFC 3463). A quota that hosters report under x.7.1 is
  // the sender's.
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

/**
 * In reply to AUTH, 53x, 525 and 550 refuse the login. 50x is about the command, 554 about the
 * client.
 */
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
