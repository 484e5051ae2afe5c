import { toEgressError } from '../../platform/egress/egress-error.ts';
import {
  ProviderError,
  type ProviderErrorCode,
  type RefusedRecipient,
  type SendPhase,
} from '../../platform/base/errors/provider-error.ts';
import { parseReply, wordsOf } from './smtp-reply.ts';
import { type SmtpStage, smtpVerdict } from './smtp-verdict.ts';

/** Properties of nodemailer's errors that are used here (nodemailer 10, `NodemailerError`). */
export interface LibraryError extends Error {
  /**
   * Kind of error: EAUTH, EENVELOPE, EMESSAGE, ECONNECTION, ESOCKET, ETIMEDOUT, EPROTOCOL, ETLS, …
   */
  code?: string;
  /** Node's own error code, if the library has replaced it in `code`. */
  originalCode?: string;
  /** The command that failed: "MAIL FROM", "RCPT TO", "DATA", "AUTH PLAIN", "CONN", "API". */
  command?: string;
  /** The server's reply. */
  response?: string;
  responseCode?: number;
  recipient?: string;
  rejectedErrors?: LibraryError[];
}

/** A failure detected by Carillon rather than by the library. Its message may be shown to users. */
export class SmtpTroubleError extends Error {
  override name = 'SmtpTroubleError';
}

/** An exchange with the server took too long. */
export class SmtpTimeoutError extends SmtpTroubleError {
  override name = 'SmtpTimeoutError';
}

/** The connection was closed, and the library does not report why. */
export class SmtpClosedError extends SmtpTroubleError {
  override name = 'SmtpClosedError';

  constructor() {
    super('the server closed the connection');
  }
}

/** The caller aborted the send. */
export class SendAbortedError extends SmtpTroubleError {
  override name = 'SendAbortedError';

  constructor() {
    super('The send was aborted before the content was sent');
  }
}

/**
 * A kept connection turned out to be dead before the server accepted any part of the message.
 * Nothing was sent.
 */
export class StaleSessionError extends Error {
  override name = 'StaleSessionError';
}

/** The circumstances of a failure. */
export interface FailureContext {
  phase: SendPhase;
  stage: SmtpStage;
  /** Texts that must never be shown. */
  secrets: readonly string[];
  /** Recipients refused for good before the failure. */
  refused?: readonly RefusedRecipient[];
  /** Recipients deferred before the failure. */
  deferred?: readonly RefusedRecipient[];
}

/** Whether the error is a 4xx or 5xx reply of the server. */
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
 * Converts any failure of an exchange into a `ProviderError`. A 4xx or 5xx reply always means that
 * the message was not sent. Any other failure is `outcome-unknown` once the whole content was sent
 * (phase `confirmation`) and `temporary` before. The phase decides, because the library uses the
 * same codes for both.
 */
export function toProviderError(error: unknown, context: FailureContext): ProviderError {
  if (error instanceof ProviderError) return error;
  const { phase, secrets, refused = [], deferred = [] } = context;
  const details = { phase, refused, deferred, cause: safeCause(error) };
  if (isReply(error)) {
    if (error.command !== 'STARTTLS' || error.responseCode < 500)
      return ofReply(error.response, context);
    const message = `The server does not offer STARTTLS: ${wordsOf(error.response, secrets)}`;
    return new ProviderError('unsupported', message, details);
  }
  const words = wordsOf(describe(error), secrets);
  if (phase === 'confirmation') {
    const message = `The content was sent, but the server did not confirm it: ${words}`;
    return new ProviderError('outcome-unknown', message, details);
  }
  // The egress guard refuses this address until the settings change.
  const code: ProviderErrorCode =
    toEgressError(error).kind === 'blocked' ? 'unsupported' : 'temporary';
  return new ProviderError(code, words, details);
}

/** Converts a refusing reply of the server into a `ProviderError`. */
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

/** The failure in plain words. Never includes the address that a name resolved to. */
function describe(error: unknown): string {
  if (error instanceof SmtpTroubleError) return error.message;
  const { code, originalCode, response, message = '' } = partsOf(error);
  if (code === 'EPROTOCOL')
    return `the server does not speak SMTP as expected: ${response ?? message}`;
  if (response) return `unexpected answer: ${response}`;
  if (code === 'ETIMEDOUT' && !originalCode) return 'the server did not answer in time';
  if (code === 'ECONNECTION') return 'the server closed the connection';
  if (code === 'ETLS' && !originalCode) return 'no secure connection';
  // Only Node's own code distinguishes the causes.
  return toEgressError(originalCode ? { code: originalCode } : error).message;
}

/**
 * A cause without the library's message: that message repeats the server's replies in full, and
 * they may repeat secrets.
 */
function safeCause(error: unknown): Error {
  const { name, code, originalCode, command } = partsOf(error);
  return new Error([name, code, originalCode, command].filter(Boolean).join(' '));
}

/**
 * Reads errors by their properties, not by `instanceof`: Node's own errors may come from another
 * realm.
 */
function partsOf(error: unknown): Partial<LibraryError> {
  return typeof error === 'object' && error !== null ? error : {};
}

/** Whether the connection was lost, as opposed to an abort or a timeout on this side. */
export function isLoss(error: unknown): boolean {
  const { code } = error as LibraryError;
  return code === 'ECONNECTION' || code === 'ESOCKET' || error instanceof SmtpClosedError;
}

/** The step at which the server or the library failed. */
export function stageOf(error: unknown, phase: SendPhase): SmtpStage {
  const { command, code } = error as LibraryError;
  if (command === 'MAIL FROM') return 'sender';
  if (command === 'RCPT TO') return 'recipient';
  return code === 'EMESSAGE' || phase === 'confirmation' ? 'message' : 'data';
}
