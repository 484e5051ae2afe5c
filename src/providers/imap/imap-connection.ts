import { BlockList, type IPVersion, type SocketAddress } from 'node:net';
import { ImapFlow, type ImapFlowOptions } from 'imapflow';
import type { EgressPolicy } from '../../platform/egress/egress-policy.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { ATTEMPT_MS, openSocket } from '../smtp/smtp-socket.ts';
import { waitFor } from '../smtp/wait.ts';
import type { ImapServer } from './imap.settings.ts';
import { ImapTroubleError, secretsOf, toImapError } from './imap-error.ts';
import { type AnswerLimits, ImapInput } from './imap-input.ts';
import type { ImapLimits } from './imap-limits.ts';
import type { ImapStage } from './imap-verdict.ts';

/** How long a server may take for its farewell. */
const FAREWELL_MS = 2_000;

/** Refuses every address the operator does not allow, public ones too. */
class AllowedOnly extends BlockList {
  constructor(private readonly policy: EgressPolicy) {
    super();
  }

  override check(address: string | SocketAddress, family?: IPVersion): boolean {
    const [text, version] =
      typeof address === 'string' ? [address, family] : [address.address, address.family];
    return !this.policy.guard.isAllowed(text, version);
  }
}

/** How a connection differs from others to the same server. */
export interface ConnectionTraits {
  /** How long the server may be silent; see `ImapLimits`. */
  silenceMs: number;
  /** How long it stays in IDLE; absent: it never idles. */
  renewMs?: number;
  /** How much the server may answer; absent: `ImapLimits.answers`. */
  answers?: AnswerLimits;
}

/** One connection to an IMAP server, logged in. */
export class ImapConnection {
  readonly client: ImapFlow;
  readonly input: ImapInput;
  readonly #secrets: readonly string[];
  #failure: unknown = null;
  /** What a command was refused with whose method only tells that it was. */
  #refusal: unknown = null;
  #ended = false;
  /** Called once, when the connection is gone. */
  onEnd: (() => void) | null = null;
  /** `performance.now()` of the last time it was given back. */
  usedAt = performance.now();

  private constructor(server: ImapServer, options: ImapFlowOptions, answers: AnswerLimits) {
    this.#secrets = secretsOf(server.login);
    const note = (entry: { err?: unknown }) => {
      if (entry.err !== undefined) this.#refusal = entry.err;
    };
    const nothing = () => undefined;
    // The library's log has credentials in it; of it only the errors that its methods turn into `false` are kept.
    const logger = {
      trace: nothing,
      debug: nothing,
      info: nothing,
      warn: note,
      error: note,
      fatal: note,
    };
    this.client = new ImapFlow({ ...options, logger });
    this.input = new ImapInput(this.client, answers);
    this.client.on('error', (error: unknown) => {
      this.#failure ??= error;
    });
    this.client.once('close', () => {
      this.#ended = true;
      const { byeReason } = this.client as { byeReason?: unknown };
      if (typeof byeReason === 'string') this.#failure ??= { reason: byeReason };
      this.onEnd?.();
    });
    clients.set(this.client, this);
  }

  /**
   * Connects, encrypted where the settings ask for it, and logs in.
   * @throws {ProviderError} `auth-invalid`; `unsupported` when the settings can never work
   */
  static async open(
    server: ImapServer,
    policy: EgressPolicy,
    limits: ImapLimits,
    traits: ConnectionTraits,
    signal: AbortSignal | null = null,
  ): Promise<ImapConnection> {
    let connection: ImapConnection | undefined;
    try {
      if ('accessToken' in server.login && server.login.accessToken === '')
        throw new ImapTroubleError('There is no access token for this account');
      const options = await optionsOf(server, policy, limits, traits, signal);
      const made = new ImapConnection(server, options, traits.answers ?? limits.answers);
      connection = made;
      await waitFor<void>(signal, (wait) => {
        wait.within(
          2 * limits.connectMs + limits.silenceMs,
          'the server did not answer the login in time',
        );
        made.client.connect().then(wait.resolve, wait.reject);
      });
      return made;
    } catch (error) {
      // The library leaves the socket open when a login fails.
      connection?.client.close();
      const failure = connection
        ? connection.errorOf(error, 'connect')
        : toImapError(error, { stage: 'connect', secrets: secretsOf(server.login) });
      throw plainly(failure, server);
    }
  }

  get usable(): boolean {
    return !this.#ended && this.client.usable;
  }

  /** A failure of a command as the port tells it: when the connection is gone, what ended it. */
  errorOf(error: unknown, stage: ImapStage = 'command'): ProviderError {
    const isLoss = (this.#ended || !this.client.usable) && !hasReason(error);
    return toImapError(isLoss && this.#failure !== null ? this.#failure : error, {
      stage,
      secrets: this.#secrets,
    });
  }

  /** Why it ended; null: it has not, or nobody said why. */
  get failure(): ProviderError | null {
    return this.#failure === null ? null : this.errorOf(this.#failure);
  }

  /** Why the last command was refused; null: none was since the last time. */
  takeRefusal(): ProviderError | null {
    const refusal = this.#refusal;
    this.#refusal = null;
    return refusal === null ? null : this.errorOf(refusal);
  }

  /** Asks whether it is alive. */
  async probe(limitMs: number): Promise<boolean> {
    try {
      await waitFor<void>(null, (wait) => {
        wait.within(limitMs, 'no answer');
        this.client.noop().then(wait.resolve, wait.reject);
      });
    } catch {
      // Whatever it is: such a connection is not worth a word.
      this.destroy();
    }
    return this.usable;
  }

  /** Says goodbye; resolves when it is closed. */
  async quit(): Promise<void> {
    if (this.usable) {
      await waitFor<void>(null, (wait) => {
        wait.within(FAREWELL_MS, 'no answer');
        this.client.logout().then(() => wait.resolve(), wait.reject);
      }).catch(() => undefined);
    }
    this.destroy();
  }

  destroy(): void {
    this.client.close();
  }
}

const clients = new WeakMap<ImapFlow, ImapConnection>();

/**
 * The answer of one of the library's methods that answer `false` when the server refuses the command (search, status,
 * messageFlagsAdd, messageMove, …), or nothing at all.
 * @throws {ProviderError} the server's refusal
 */
export async function answerOf<T>(
  client: ImapFlow,
  answer: Promise<T>,
): Promise<Exclude<T, false | undefined>> {
  const connection = clients.get(client);
  connection?.takeRefusal();
  const value = await answer;
  if (value !== false && value !== undefined) return value as Exclude<T, false | undefined>;
  throw (
    connection?.takeRefusal() ??
    new ProviderError('temporary', 'The server did not do what it was asked')
  );
}

/**
 * Does work with a connection whose server may answer this much to each command; more ends the connection.
 * @throws what the work throws
 */
export async function answersWithin<T>(
  client: ImapFlow,
  limits: Partial<AnswerLimits>,
  work: () => Promise<T>,
): Promise<T> {
  const connection = clients.get(client);
  return connection ? connection.input.within(limits, work) : work();
}

/** Whether the server told of more vanished messages since the last time than were taken: which, is not known then. */
export function takeLeftOut(client: ImapFlow): boolean {
  return clients.get(client)?.input.takeLeftOut() ?? false;
}

/** Whether the answer to the last command had a FETCH response that was too long to be parsed. */
export function takeFetchLeftOut(client: ImapFlow): boolean {
  return clients.get(client)?.input.takeFetchLeftOut() ?? false;
}

async function optionsOf(
  server: ImapServer,
  policy: EgressPolicy,
  limits: ImapLimits,
  { silenceMs, renewMs, answers = limits.answers }: ConnectionTraits,
  signal: AbortSignal | null,
): Promise<ImapFlowOptions> {
  const { host, port, security, login } = server;
  const { user } = login;
  return {
    host,
    port,
    secure: security === 'tls',
    doSTARTTLS: security === 'starttls',
    tls: await transportOf(server, policy, limits, signal),
    auth:
      'password' in login
        ? { user, pass: login.password }
        : { user, accessToken: login.accessToken },
    clientInfo: { name: 'Carillon', vendor: false, version: false, 'support-url': false },
    connectionTimeout: limits.connectMs,
    greetingTimeout: limits.connectMs,
    socketTimeout: silenceMs,
    // `ImapInput` tells apart which lines may be so long.
    maxLineLength: answers.lineBytes,
    maxLiteralSize: answers.literalBytes,
    // A connection has its zlib state in memory otherwise, hundreds of kilobytes of it.
    disableCompression: true,
    disableAutoIdle: true,
    // Servers that have it (RFC 7162) say what is gone, instead of being asked for all there is.
    qresync: true,
    ...(renewMs === undefined ? {} : { maxIdleTime: renewMs }),
  };
}

/**
 * What the library gives to `net.connect` and to `tls.connect`. The guard looks at each address right before it is
 * connected to; TLS is given the open connection, because it would not hand the guard on.
 */
async function transportOf(
  server: ImapServer,
  policy: EgressPolicy,
  limits: ImapLimits,
  signal: AbortSignal | null,
): Promise<NonNullable<ImapFlowOptions['tls']>> {
  const tls = {
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2' as const,
    ...(limits.ca === undefined ? {} : { ca: limits.ca }),
  };
  if (server.security === 'tls')
    return { ...tls, socket: await openSocket(server, policy, limits.connectMs, signal) };
  const clear = server.security === 'none' ? new AllowedOnly(policy) : policy.guard;
  return {
    ...tls,
    blockList: policy.trustsName(server.host) ? undefined : clear,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ATTEMPT_MS,
    noDelay: true,
  } as NonNullable<ImapFlowOptions['tls']>;
}

/** Whether the error itself says what happened: an answer, or the words of BYE. */
function hasReason(error: unknown): boolean {
  const { responseStatus, reason } = (error ?? {}) as {
    responseStatus?: unknown;
    reason?: unknown;
  };
  return error instanceof ProviderError || responseStatus !== undefined || Boolean(reason);
}

function plainly(error: ProviderError, { security }: ImapServer): ProviderError {
  if (security !== 'none' || error.setting !== 'imap_host' || error.code !== 'unsupported')
    return error;
  const message = 'Credentials are not sent to this server without encryption';
  return new ProviderError('unsupported', message, {
    setting: 'imap_security',
    cause: error.cause,
  });
}
