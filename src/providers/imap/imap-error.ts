import { type EgressErrorKind, toEgressError } from '../../platform/egress/egress-error.ts';
import {
  ProviderError,
  type ProviderErrorCode,
} from '../../platform/base/errors/provider-error.ts';
import { SendAbortedError, SmtpTroubleError } from '../smtp/smtp-failure.ts';
import { wordsOf } from '../smtp/smtp-reply.ts';
import type { ImapServer } from './imap.settings.ts';
import { type ImapReply, type ImapStage, imapVerdict } from './servers/imap-verdict.ts';

/** Properties of imapflow's errors that are used here (imapflow 2.1). */
interface LibraryError {
  name?: string;
  message?: string;
  /** The library's code (`ImapFlowErrorCode`) or Node's. */
  code?: string;
  /** NO or BAD, if the server refused a command. */
  responseStatus?: string;
  responseText?: string;
  /** Response code, if the library parsed it. */
  serverResponseCode?: string;
  /** The server's line, parsed or as text. */
  response?: unknown;
  authenticationFailed?: boolean;
  /** The server's error in a login by OAuth (RFC 7628 section 3.2.2). */
  oauthError?: { status?: unknown };
  tlsFailed?: boolean;
  /** True if LIST did not find the mailbox that could not be opened. */
  mailboxMissing?: boolean;
  /** Text of the server's BYE. */
  reason?: string;
}

/** The circumstances of a failure. */
export interface ImapFailureContext {
  stage: ImapStage;
  /** Texts that must never be shown. */
  secrets: readonly string[];
}

/** A failure detected by Carillon rather than by the library. Its message may be shown to users. */
export class ImapTroubleError extends Error {
  override name = 'ImapTroubleError';

  constructor(
    message: string,
    readonly code: ProviderErrorCode = 'temporary',
    readonly setting: string | null = null,
  ) {
    super(message);
  }
}

const TIMEOUTS: Readonly<Record<string, string>> = {
  CONNECT_TIMEOUT: 'no connection in time',
  GREETING_TIMEOUT: 'the server did not greet in time',
  UPGRADE_TIMEOUT: 'no secure connection in time',
  ETIMEOUT: 'the server did not answer in time',
  LockTimeout: 'the mailbox was not available in time',
};
const CLOSED = /^(NoConnection|EConnectionClosed|StateLogout|ClosedAfterConnect(Text|TLS))$/;
const NO_LOGIN =
  /^(Login is disabled|Unsupported authentication mechanism|No matching authentication method)$/;
const TOO_LARGE = /^(LineTooLarge|LiteralTooLarge|ResponseTooLarge)$/;
const NOT_IMAP = /^(ParserError|InvalidResponse|UnexpectedTag|ResponseProcessing|MAX_IMAP)/;
/** Refusals with a text of the library. */
const REFUSED: Readonly<Record<string, [ProviderErrorCode, string]>> = {
  NotFound: ['not-found', 'The mailbox does not exist'],
  MissingServerExtension: ['unsupported', 'The server does not have the required extension'],
};
const CERTIFICATES: readonly [RegExp, string][] = [
  [/^(DEPTH_ZERO_)?SELF_SIGNED/, 'its certificate is self-signed'],
  [/^CERT_HAS_EXPIRED$/, 'its certificate has expired'],
  [/^CERT_NOT_YET_VALID$/, 'its certificate is not valid yet'],
  [/ALTNAME_INVALID|HOSTNAME_MISMATCH/, 'its certificate is for another host name'],
  [/^UNABLE_TO_|^CERT_|^INVALID_/, 'its certificate is from an authority that is not trusted here'],
  [
    /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|^EPROTO$/,
    'the server does not speak TLS on this port',
  ],
];
const SETTINGS: Partial<Record<EgressErrorKind, string>> = {
  dns: 'imap_host',
  blocked: 'imap_host',
  connect: 'imap_port',
  timeout: 'imap_port',
  tls: 'imap_security',
};

/**
 * Converts any failure of a connection into a `ProviderError`. For a refusal by the server,
 * `imapVerdict` decides. Every other failure is `temporary`, or `unsupported` if the settings can
 * never work. Neither message nor cause contains credentials.
 */
export function toImapError(error: unknown, { stage, secrets }: ImapFailureContext): ProviderError {
  if (error instanceof ProviderError) return error;
  const words = (text: string) => wordsOf(text, secrets);
  const parts = partsOf(error);
  const cause = causeOf(error, parts);
  const make = (code: ProviderErrorCode, message: string, more: Details = {}) =>
    new ProviderError(code, words(message), { ...more, cause });
  if (error instanceof ImapTroubleError)
    return make(
      error.code,
      error.message,
      error.setting === null ? {} : { setting: error.setting },
    );
  if (error instanceof SendAbortedError) return make('temporary', 'given up');
  if (error instanceof SmtpTroubleError)
    return make('temporary', error.message, stage === 'connect' ? { setting: 'imap_port' } : {});
  if (parts.oauthError) {
    const token = tokenRefusal(parts);
    if (token) return make(token, `The server refused the access token: ${textOf(parts)}`);
  }
  const reply = replyOf(parts);
  if (reply) {
    const verdict = imapVerdict(parts.authenticationFailed ? 'login' : stage, reply);
    const { retryAfterSeconds } = verdict;
    const code = parts.mailboxMissing && verdict.code === 'temporary' ? 'not-found' : verdict.code;
    return make(code, wordsOfReply(reply), {
      ...(retryAfterSeconds === null ? {} : { retryAfterSeconds }),
      ...(code === 'auth-invalid' ? { setting: 'imap_password' } : {}),
    });
  }
  const [code, message, setting] = ofConnection(parts, error);
  return make(code, message, setting === null ? {} : { setting });
}

type Details = { retryAfterSeconds?: number; setting?: string };

/** Whether a failure is the server's reply to a command, which leaves the connection usable. */
export function isImapRefusal(error: unknown): boolean {
  const { responseStatus, code = '' } = partsOf(error);
  return responseStatus === 'NO' || responseStatus === 'BAD' || code in REFUSED;
}

/** Texts of a login that must never be shown: as given, and in the form sent to the server. */
export function secretsOf(login: ImapServer['login']): string[] {
  const { user } = login;
  if ('password' in login) return [login.password, `\0${user}\0${login.password}`];
  return login.accessToken === ''
    ? []
    : [login.accessToken, `user=${user}\u0001auth=Bearer ${login.accessToken}\u0001\u0001`];
}

/** The error code for a refused token. `null` if the server's reply is not about the token. */
function tokenRefusal(parts: LibraryError): ProviderErrorCode | null {
  const status = String(parts.oauthError?.status ?? '');
  if (status === '429') return 'rate-limited';
  if (/^5\d\d$/.test(status)) return 'temporary';
  const reply = replyOf(parts);
  const verdict = reply && imapVerdict('login', reply).code;
  return verdict === 'rate-limited' || verdict === 'unsupported' ? null : 'auth-invalid';
}

function replyOf(parts: LibraryError): ImapReply | null {
  const { responseStatus, reason, code = 'NoConnection' } = parts;
  if (responseStatus === 'NO' || responseStatus === 'BAD') {
    return { status: responseStatus, code: responseCodeOf(parts), text: textOf(parts) };
  }
  // The library gives the text of BYE without its code. TLS errors have a `reason`, too.
  return reason && CLOSED.test(code) ? { status: 'BYE', code: null, text: reason } : null;
}

function responseCodeOf({ serverResponseCode, response }: LibraryError): string | null {
  if (serverResponseCode) return serverResponseCode;
  if (typeof response === 'string')
    return /^\S+ (?:NO|BAD) \[([A-Z0-9-]+)/i.exec(response)?.[1]?.toUpperCase() ?? null;
  const [first] =
    (response as { attributes?: readonly { section?: readonly { value?: unknown }[] }[] })
      ?.attributes ?? [];
  const value = first?.section?.[0]?.value;
  return typeof value === 'string' ? value.toUpperCase() : null;
}

function textOf({ responseText, response }: LibraryError): string {
  return responseText ?? (typeof response === 'string' ? response.replace(/^\S+ /, '') : '');
}

function wordsOfReply({ status, code, text }: ImapReply): string {
  if (status === 'BYE') return `The server ended the connection: ${text}`;
  return [code === null ? '' : `[${code}]`, text || `the server replied ${status}`]
    .filter(Boolean)
    .join(' ');
}

/** A failure of the connection: its code, a text, and the setting concerned. */
function ofConnection(
  parts: LibraryError,
  error: unknown,
): [ProviderErrorCode, string, string | null] {
  const { code = '', tlsFailed, message = '' } = parts;
  const refused = REFUSED[code];
  if (refused) return [...refused, null];
  const timeout = TIMEOUTS[code];
  if (timeout !== undefined)
    return [
      'temporary',
      timeout,
      code === 'CONNECT_TIMEOUT' || code === 'GREETING_TIMEOUT' ? 'imap_port' : null,
    ];
  if (code === 'ETHROTTLE')
    return ['rate-limited', 'the server asks the client to slow down', null];
  if (code === 'STARTTLS_INJECTION')
    return ['temporary', 'STARTTLS is being tampered with on the network', 'imap_security'];
  if (tlsFailed && message.includes('does not support STARTTLS'))
    return ['unsupported', 'The server does not offer STARTTLS', 'imap_security'];
  if (CLOSED.test(code)) return ['temporary', 'the server closed the connection', null];
  if (TOO_LARGE.test(code))
    return ['temporary', `the server sent more than is accepted (${code})`, null];
  if (NOT_IMAP.test(code))
    return ['temporary', `the server does not speak IMAP as expected (${code})`, null];
  if (NO_LOGIN.test(message))
    return ['unsupported', 'The server does not offer a supported login method', 'imap_security'];
  if (!isOfTransport(code, error))
    return ['temporary', 'the exchange with the server failed', null];
  const { kind, message: plain } = toEgressError(error);
  // The egress guard refuses this address until the settings change.
  const result: ProviderErrorCode = kind === 'blocked' ? 'unsupported' : 'temporary';
  const certificate = CERTIFICATES.find(([test]) => test.test(code));
  const words = certificate ? `no secure connection: ${certificate[1]} (${code})` : plain;
  return [result, words, SETTINGS[kind] ?? null];
}

/** Node's codes are upper case. An error for several addresses is an `AggregateError`. */
function isOfTransport(code: string, error: unknown): boolean {
  return /^[A-Z][A-Z0-9_]+$/.test(code) || error instanceof AggregateError;
}

/**
 * A safe cause. Of the library's errors only names and codes are kept, because the rest may repeat
 * secrets. Errors without a code are Carillon's own bugs; they are kept for their stack trace.
 */
function causeOf(
  error: unknown,
  { name, code, responseStatus, serverResponseCode }: LibraryError,
): unknown {
  const isLibrary = code !== undefined || responseStatus !== undefined;
  if (!isLibrary) return error instanceof Error ? error : undefined;
  return new Error([name, code, responseStatus, serverResponseCode].filter(Boolean).join(' '));
}

/**
 * Reads errors by their properties, not by `instanceof`: Node's own errors may come from another
 * realm.
 */
function partsOf(error: unknown): LibraryError {
  return typeof error === 'object' && error !== null ? error : {};
}
