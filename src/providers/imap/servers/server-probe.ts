import { isIP, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { EgressPolicy } from '../../../platform/egress/egress-policy.ts';
import { type EgressErrorKind, toEgressError } from '../../../platform/egress/egress-error.ts';
import { isTrustedHost, openSocket } from '../../smtp/smtp-socket.ts';
import { waitFor } from '../../smtp/wait.ts';
import type { Security } from '../imap.settings.ts';

/** A server to be checked. */
export interface ProbedServer {
  protocol: 'imap' | 'smtp';
  host: string;
  port: number;
  security: Security;
}

/**
 * Why a server cannot be used:
 * - `unknown-host`: the host name does not exist;
 * - `dns`: the host name could not be looked up;
 * - `blocked`: the address is not public;
 * - `cleartext`: the connection would be unencrypted and the host is not on the operator's
 *   allow-list;
 * - `closed`: nothing listens on the port;
 * - `silent`: no reply in time;
 * - `certificate`: the certificate is not valid for this host now;
 * - `tls`: no TLS from the first byte;
 * - `no-starttls`: STARTTLS is not offered;
 * - `protocol`: the server speaks another protocol;
 * - `refused`: the server refuses connections temporarily;
 * - `lost`: the connection broke.
 */
export type ProbeFailure =
  | 'unknown-host'
  | 'dns'
  | 'blocked'
  | 'cleartext'
  | 'closed'
  | 'silent'
  | 'certificate'
  | 'tls'
  | 'no-starttls'
  | 'protocol'
  | 'refused'
  | 'lost';

/**
 * A server cannot be used. `message` completes a sentence that starts with the name of the server,
 * and may be shown to users.
 */
export class ProbeError extends Error {
  override name = 'ProbeError';
  readonly failure: ProbeFailure;

  constructor(failure: ProbeFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}

export interface ProbeOptions {
  policy: EgressPolicy;
  /** Time limit for the whole probe, in milliseconds. */
  limitMs: number;
  /** Certificate authorities to trust instead of the system's (PEM). */
  ca?: string;
  /** Ends the probe early. */
  signal?: AbortSignal;
}

const LONGEST_ANSWER = 16 * 1024;
const NO_TLS = 'does not speak TLS (1.2 or newer) on this port';

/**
 * Connects to a server like a client, up to the point where the client would log in: name, port,
 * encryption with a valid certificate, greeting. Sends no secret.
 * @throws {ProbeError}
 */
export async function probeServer(server: ProbedServer, options: ProbeOptions): Promise<void> {
  const until = performance.now() + options.limitMs;
  const wait = {
    left: () => Math.max(until - performance.now(), 1),
    signal: options.signal ?? null,
  };
  let socket: Socket | undefined;
  try {
    socket = await openSocket(server, options.policy, wait.left(), wait.signal);
    if (server.security === 'none' && !isTrustedHost(options.policy, server.host, socket)) {
      throw new ProbeError(
        'cleartext',
        'is not on the list of hosts that may be used without encryption',
      );
    }
    if (server.security === 'starttls') {
      await askForTls(socket, server, wait);
      await encrypt(socket, server, wait, options.ca);
      return;
    }
    const line =
      server.security === 'tls' ? await encrypt(socket, server, wait, options.ca) : socket;
    await greeting(line, server, wait);
  } catch (error) {
    throw toProbeError(error);
  } finally {
    socket?.destroy();
  }
}

/** The last line of a reply. In SMTP it has no dash after the code. */
const LAST_LINE = {
  imapGreeting: /^.*\n/,
  imapReply: /^a .*\n/im,
  smtp: /^(?!\d{3}-).*\n/m,
} as const;

/** Requests STARTTLS on the unencrypted connection (RFC 3501 section 6.2.1, RFC 3207). */
async function askForTls(socket: Socket, server: ProbedServer, wait: AnswerWait): Promise<void> {
  await greeting(socket, server, wait).catch(perhapsTls);
  const ask = (command: string) => {
    socket.write(`${command}\r\n`);
    return answer(socket, server.protocol === 'imap' ? LAST_LINE.imapReply : LAST_LINE.smtp, wait);
  };
  if (server.protocol === 'smtp') await ask('EHLO [127.0.0.1]');
  const reply = await ask(server.protocol === 'imap' ? 'a STARTTLS' : 'STARTTLS');
  if (!(server.protocol === 'imap' ? /^a OK/im : /^220/).test(reply)) {
    throw new ProbeError('no-starttls', `does not offer STARTTLS on port ${server.port}`);
  }
}

/** Servers that expect TLS from the first byte send nothing before it. */
function perhapsTls(error: unknown): never {
  if (toProbeError(error).failure !== 'silent') throw error;
  throw new ProbeError(
    'silent',
    'sends nothing in time: perhaps it expects TLS from the first byte on this port',
    {
      cause: error,
    },
  );
}

function encrypt(
  socket: Socket,
  { host }: ProbedServer,
  { left, signal }: AnswerWait,
  ca: string | undefined,
): Promise<TLSSocket> {
  return waitFor<TLSSocket>(signal, (wait) => {
    wait.within(left(), 'no answer in time');
    const secure = connectTls({
      socket,
      host,
      ...(isIP(host) ? {} : { servername: host }),
      ...(ca ? { ca } : {}),
      rejectUnauthorized: true,
      minVersion: 'TLSv1.2',
    });
    secure.once('secureConnect', () => wait.resolve(secure));
    // This listener stays: a late error must not end the process.
    secure.on('error', (error: NodeJS.ErrnoException) =>
      wait.reject(
        error.code === 'ECONNRESET' ? new ProbeError('tls', NO_TLS, { cause: error }) : error,
      ),
    );
    secure.once('close', () => wait.reject(new ProbeError('tls', NO_TLS)));
  });
}

interface AnswerWait {
  left(): number;
  signal: AbortSignal | null;
}

function answer(socket: Socket, lastLine: RegExp, { left, signal }: AnswerWait): Promise<string> {
  return waitFor<string>(signal, (wait) => {
    wait.within(left(), 'no answer in time');
    let text = '';
    const end = (error: unknown) => {
      socket.off('data', onData);
      socket.off('close', onClose);
      socket.off('error', end);
      // Bytes that arrive before the next reader is attached must not be lost.
      socket.pause();
      if (error) wait.reject(error);
      else wait.resolve(text);
    };
    const onData = (chunk: Buffer) => {
      // JavaScript regular expressions treat a carriage return as a line end, too.
      text += chunk.toString('latin1').replaceAll('\r', '');
      if (lastLine.test(text)) end(null);
      else if (text.length > LONGEST_ANSWER)
        end(new ProbeError('protocol', 'sends a reply without end'));
    };
    const onClose = () => end(new ProbeError('lost', 'closes the connection immediately'));
    socket.on('data', onData);
    socket.once('close', onClose);
    socket.once('error', end);
    if (socket.destroyed) onClose();
    else socket.resume();
  });
}

async function greeting(
  socket: Socket,
  { protocol, port }: ProbedServer,
  wait: AnswerWait,
): Promise<void> {
  const text = await answer(
    socket,
    protocol === 'imap' ? LAST_LINE.imapGreeting : LAST_LINE.smtp,
    wait,
  );
  const [first = ''] = text.split('\n');
  const words = first.replace(/[\p{Cc}\p{Cf}]+/gu, ' ').slice(0, 200);
  if (/^(\* BYE|[45]\d\d[ -])/i.test(first))
    throw new ProbeError('refused', `refuses the connection: ${words}`);
  if (protocol === 'imap' ? /^\* (OK|PREAUTH)/i.test(first) : /^220[ -]/.test(first)) return;
  throw new ProbeError('protocol', `does not speak ${protocol.toUpperCase()} on port ${port}`);
}

const UNTRUSTED = 'has a certificate of an authority that is not trusted by this server';
/** Texts for Node's error codes of certificates. */
const CERTIFICATES: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'has a self-signed certificate',
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  CERT_HAS_EXPIRED: 'has a certificate that has expired',
  CERT_NOT_YET_VALID: 'has a certificate that is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'has a certificate for another name',
};

/** Failure and text for each kind of connection error. */
const FAILURES: Record<EgressErrorKind, readonly [ProbeFailure, string]> = {
  blocked: [
    'blocked',
    'is not at a public address; this server may only connect to public addresses',
  ],
  dns: ['dns', 'could not be looked up in DNS; try again later'],
  connect: ['closed', 'accepts no connections on this port'],
  tls: ['tls', NO_TLS],
  timeout: ['silent', 'did not answer in time'],
  protocol: ['lost', 'breaks the connection'],
};

function toProbeError(error: unknown): ProbeError {
  if (error instanceof ProbeError) return error;
  const { code, name } = (typeof error === 'object' && error !== null ? error : {}) as {
    code?: unknown;
    name?: unknown;
  };
  const certificate = typeof code === 'string' ? CERTIFICATES[code] : undefined;
  if (certificate) return new ProbeError('certificate', certificate, { cause: error });
  const kind =
    name === 'SmtpTimeoutError' || name === 'SendAbortedError'
      ? 'timeout'
      : toEgressError(error).kind;
  if (kind === 'dns' && code === 'ENOTFOUND')
    return new ProbeError('unknown-host', 'does not exist (no such host name)', { cause: error });
  const [failure, message] = FAILURES[kind];
  return new ProbeError(failure, message, { cause: error });
}
