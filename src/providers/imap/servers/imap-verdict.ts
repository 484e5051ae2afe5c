import type { ProviderErrorCode } from '../../../platform/base/errors/provider-error.ts';

/** What was refused: the greeting, the login, or a later command. */
export type ImapStage = 'connect' | 'login' | 'command';

/** A refusal (NO, BAD, BYE) with the server's own text. */
export interface ImapReply {
  /** BYE ends the connection; it can also be the greeting. */
  status: 'NO' | 'BAD' | 'BYE';
  /** Response code (RFC 5530) in upper case. `null` if there is none. */
  code: string | null;
  text: string;
}

/** The meaning of a refusal. */
export interface ImapVerdict {
  code: ProviderErrorCode;
  /** An estimate, if the server names no time. */
  retryAfterSeconds: number | null;
}

/** Codes for temporary refusals (RFC 5530, and LIMIT of RFC 9051), with the delay in seconds. */
const LATER_CODES: Readonly<Record<string, number>> = {
  UNAVAILABLE: 60,
  LIMIT: 60,
  INUSE: 15,
  THROTTLED: 60,
};
/** Codes of RFC 5530, 4314, 7889, 8474 and 9051. Repeating the same command gives the same code. */
const COMMAND_CODES: Readonly<Record<string, ProviderErrorCode>> = {
  NONEXISTENT: 'not-found',
  TRYCREATE: 'not-found',
  ALREADYEXISTS: 'conflict',
  OVERQUOTA: 'rejected',
  TOOBIG: 'rejected',
  CANNOT: 'rejected',
  NOPERM: 'rejected',
  HASCHILDREN: 'rejected',
  'READ-ONLY': 'rejected',
  'UNKNOWN-CTE': 'rejected',
  USEATTR: 'rejected',
};
/** Codes that refuse the credentials for good. EXPIRED means that the password has expired. */
const LOGIN_CODES = new Set(['AUTHENTICATIONFAILED', 'AUTHORIZATIONFAILED', 'EXPIRED', 'WEBALERT']);

const TOO_MUCH =
  /throttl|\brate[ -]?limit|too (many|fast|frequent)|(exceed|reached).{0,40}\b(limit|bandwidth|connections)|\b(limit|maximum)\b.{0,40}\b(exceed|reached)|maximum number of|bandwidth limit|slow down/i;
const LATER =
  /temporar|try (it )?again|later|unavailable|internal|timed? ?out|server (error|busy)|not connected|backend/i;
/**
 * Texts of servers that give no code (Exchange Online, Courier, hMailServer), and of Gmail with
 * ALERT.
 */
const BAD_LOGIN =
  /(login|logon|authenticat\w*|auth) (has )?(failed|failure|incorrect|denied|rejected)|(invalid|incorrect|wrong|bad|unknown) (user|login|logon|credential|password|name)|(credentials?|password|user ?name) (is |are |was )?(invalid|incorrect|wrong|rejected)|application-specific password|app(lication)? password|log ?in via your web browser|web login required|less secure app/i;
const NO_MAILBOX =
  /(mailbox|folder) (does(n't| not) exist|not found|is unknown)|(unknown|no such|non-?existent) (mailbox|folder)|does(n't| not) exist/i;
const EXISTS = /already exists|duplicate (mailbox|folder)/i;
const AFTER =
  /\b(?:in|after|for|wait)\s+(?:about\s+|at least\s+)?(\d{1,5})\s*(s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)\b/i;
const BACKOFF = /backoff time[:=\s]+(\d{1,9})/i;
const GUESS_SECONDS = 60;

/**
 * Decides what a refusal means. The response code takes precedence over the text, and a temporary
 * cause over a final one. Only an explicit refusal of the credentials is `auth-invalid`: a server
 * with a fault must not force the user to sign in again.
 */
export function imapVerdict(stage: ImapStage, reply: ImapReply): ImapVerdict {
  const code = codeOf(stage, reply);
  return {
    code,
    retryAfterSeconds: code === 'rate-limited' ? secondsOf(reply) : namedSeconds(reply.text),
  };
}

function codeOf(stage: ImapStage, { status, code, text }: ImapReply): ProviderErrorCode {
  if (code !== null && code in LATER_CODES) return 'rate-limited';
  // Gmail also uses OVERQUOTA for its limits of commands and bandwidth.
  if (TOO_MUCH.test(text)) return 'rate-limited';
  if (status === 'BYE') return 'temporary';
  if (stage === 'login') return loginCode(code, text);
  const known = code === null ? undefined : COMMAND_CODES[code];
  if (known) return known;
  // PRIVACYREQUIRED: the server requires encryption.
  if (code === 'PRIVACYREQUIRED') return 'unsupported';
  if (status === 'BAD' || code !== null || LATER.test(text)) return 'temporary';
  if (NO_MAILBOX.test(text)) return 'not-found';
  return EXISTS.test(text) ? 'conflict' : 'temporary';
}

function loginCode(code: string | null, text: string): ProviderErrorCode {
  if (code === 'PRIVACYREQUIRED') return 'unsupported';
  if (code !== null && LOGIN_CODES.has(code)) return 'auth-invalid';
  // ALERT only requests that the text is shown (RFC 9051 section 7.1).
  if (code !== null && code !== 'ALERT') return 'temporary';
  return BAD_LOGIN.test(text) && !LATER.test(text) ? 'auth-invalid' : 'temporary';
}

function secondsOf({ code, text }: ImapReply): number {
  return namedSeconds(text) ?? (code === null ? undefined : LATER_CODES[code]) ?? GUESS_SECONDS;
}

function namedSeconds(text: string): number | null {
  const backoff = BACKOFF.exec(text)?.[1];
  if (backoff !== undefined) return Math.ceil(Number(backoff) / 1_000);
  const [, number, unit = ''] = AFTER.exec(text) ?? [];
  if (number === undefined) return null;
  return Number(number) * ({ s: 1, m: 60, h: 3_600 }[unit.charAt(0).toLowerCase()] ?? 1);
}
