import { toEgressError } from '../../platform/egress/egress-error.ts';
import {
  ProviderError,
  type ProviderErrorCode,
  type RefusedRecipient,
  type SendPhase,
} from '../../platform/base/errors/provider-error.ts';
import { parseReply, wordsOf } from './smtp-reply.ts';
import { type SmtpStage, smtpVerdict } from './smtp-verdict.ts';

/** Properties of the library's errors that are looked at (nodemailer 10, `NodemailerError`). */
export interface LibraryError extends Error {
  /** Kind: EAUTH, EENVELOPE, EMESSAGE, ECONNECTION, ESOCKET, ETIMEDOUT, EPROTOCOL, ETLS, … */
  code?: string;
  /** Node's code, where the library has put its own over it. */
  originalCode?: string;
  /** What was asked: "MAIL FROM", "RCPT TO", "DATA", "AUTH PLAIN", "CONN", "API". */
  command?: string;
  /** The server's reply. */
  response?: string;
  responseCode?: number;
  recipient?: string;
  rejectedErrors?: LibraryError[];
}

/** Trouble that we have noticed ourselves; the message is fit to be shown. */
export class SmtpTroubleError extends Error {
  override name = 'SmtpTroubleError';
}

/** An exchange took too long. */
export class SmtpTimeoutError extends SmtpTroubleError {
  override name = 'SmtpTimeoutError';
}

/** The connection is gone, and the library does not say why. */
export class SmtpClosedError extends SmtpTroubleError {
  override name = 'SmtpClosedError';

  constructor() {
    super('the server closed the connection');
  }
}

/** The caller has given up. */
export class GivenUpError extends SmtpTroubleError {
  override name = 'GivenUpError';

  constructor() {
    super('Given up before the content was sent');
  }
}

/** A kept connection turned out to be dead before the server took anything of the message: nothing has happened. */
export class StaleSessionError extends Error {
  override name = 'StaleSessionError';
}

/** What is known about a failure. */
export interface FailureContext {
  phase: SendPhase;
  stage: SmtpStage;
  /** Never to be shown. */
  secrets: readonly string[];
  /** Recipients refused before it failed. */
  refused?: readonly RefusedRecipient[];
  /** Recipients put off before it failed. */
  deferred?: readonly RefusedRecipient[];
}

/** Whether the server has answered with a refusal. */
export function isReply(
  error: unknown,
): error is LibraryError & { response: string; responseCode: number } {
  if (!(error instanceof Error)) return false;
  const { response, responseCode } = error as LibraryError;
  return (
    typeof response === 'string' &&
    responseCode !== undefined &&
    responseCode >= 400 &&
    responseCode < 600
  );
}

/**
 * Any failure of an exchange as the port tells it. A refusal means the same at any time: not sent. Anything else is
 * `outcome-unknown` once the content was given away whole (phase `confirmation`), and `temporary` before: the library's
 * codes are the same for both.
 */
export function toProviderError(error: unknown, context: FailureContext): ProviderError {
  if (error instanceof ProviderError) return error;
  const { phase, secrets, refused = [], deferred = [] } = context;
  const details = { phase, refused, deferred, cause: safeCause(error) };
  if (isReply(error)) {
    if (error.command !== 'STARTTLS' || error.responseCode < 500)
      return ofReply(error.response, context);
    const message = `The server offers no STARTTLS: ${wordsOf(error.response, secrets)}`;
    return new ProviderError('unsupported', message, details);
  }
  const words = wordsOf(describe(error), secrets);
  if (phase === 'confirmation') {
    const message = `The content was sent, but the server did not confirm it: ${words}`;
    return new ProviderError('outcome-unknown', message, details);
  }
  // The guard's refusal stands for as long as the settings do.
  const code: ProviderErrorCode =
    toEgressError(error).kind === 'blocked' ? 'unsupported' : 'temporary';
  return new ProviderError(code, words, details);
}

/** A refusal as the port tells it. */
export function ofReply(
  response: string,
  { phase, stage, secrets, refused = [] }: FailureContext,
): ProviderError {
  const reply = parseReply(response);
  const verdict = reply ? smtpVerdict(stage, reply) : null;
  return new ProviderError(verdict?.code ?? 'temporary', wordsOf(response, secrets), {
    phase,
    refused,
    ...(verdict?.retryAfterSeconds == null ? {} : { retryAfterSeconds: verdict.retryAfterSeconds }),
  });
}

/** In plain words, without what a name resolved to. */
function describe(error: unknown): string {
  if (error instanceof SmtpTroubleError) return error.message;
  const { code, originalCode, response, message = '' } = partsOf(error);
  if (code === 'EPROTOCOL')
    return `the server does not speak SMTP as expected: ${response ?? message}`;
  if (response) return `unexpected answer: ${response}`;
  if (code === 'ETIMEDOUT' && !originalCode) return 'the server did not answer in time';
  if (code === 'ECONNECTION') return 'the server closed the connection';
  if (code === 'ETLS' && !originalCode) return 'no secure connection';
  // Node's own code is what tells one from the other.
  return toEgressError(originalCode ? { code: originalCode } : error).message;
}

/** Without the library's message, which repeats replies whole: they may hold what we said. */
function safeCause(error: unknown): Error {
  const { name, code, originalCode, command } = partsOf(error);
  return new Error([name, code, originalCode, command].filter(Boolean).join(' '));
}

/** Errors are told by their properties: Node's own may come from another realm than ours. */
function partsOf(error: unknown): Partial<LibraryError> {
  return typeof error === 'object' && error !== null ? error : {};
}
