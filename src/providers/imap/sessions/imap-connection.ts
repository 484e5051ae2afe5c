import { BlockList, type IPVersion, type SocketAddress } from 'node:net';
import type { ImapFlow, ImapFlowOptions } from 'imapflow';
import { whenNeeded } from '../../../platform/base/when-needed.ts';
import type { EgressPolicy } from '../../../platform/egress/egress-policy.ts';
import { type AskedServer, ProviderError } from '../../../platform/base/errors/provider-error.ts';
import { ATTEMPT_MS, openSocket } from '../../smtp/smtp-socket.ts';
import { waitFor } from '../../smtp/wait.ts';
import type { ImapServer } from '../imap.settings.ts';
import { ImapTroubleError, secretsOf, toImapError } from '../imap-error.ts';
import { type AnswerLimits, ImapInput } from './imap-input.ts';
import type { ImapLimits } from './imap-limits.ts';
import type { ImapStage } from '../servers/imap-verdict.ts';

/** Takes 4 MB, and installations whose mailboxes are all at Google or Microsoft do not need it. */
const imapflow = whenNeeded(
  import.meta.url,
  (require) => require('imapflow') as typeof import('imapflow'),
);

/** How long a server may take to answer LOGOUT. */
const FAREWELL_MS = 2_000;

/** Refuses every address that is not on the operator's allow-list, even public ones. */
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
  /** How long the connection stays in IDLE. Absent if it never uses IDLE. */
  renewMs?: number;
  /** How much the server may send. Absent: `ImapLimits.answers`. */
  answers?: AnswerLimits;
}

/** One connection to an IMAP server, logged in. */
export class ImapConnection {
  readonly client: ImapFlow;
  readonly input: ImapInput;
  readonly #secrets: readonly string[];
  readonly #server: AskedServer;
  #failure: unknown = null;
  /** The refusal of the last command, for methods of the library that only return `false`. */
  #refusal: unknown = null;
  #ended = false;
  /** Called once, when the connection is closed. */
  onEnd: (() => void) | null = null;
  /** `performance.now()` when the connection was last released. */
  usedAt = performance.now();

  private constructor(server: ImapServer, options: ImapFlowOptions, answers: AnswerLimits) {
    this.#secrets = secretsOf(server.login);
    this.#server = askedOf(server);
    const note = (entry: { err?: unknown }) => {
      if (entry.err !== undefined) this.#refusal = entry.err;
    };
    const nothing = () => undefined;
    // The library's log contains credentials. Only its errors are kept, because some methods only
    // return `false` for them.
    const logger = {
      trace: nothing,
      debug: nothing,
      info: nothing,
      warn: note,
      error: note,
      fatal: note,
    };
    this.client = new (imapflow().ImapFlow)({ ...options, logger });
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
   * Connects, encrypts if the settings ask for it, and logs in.
   * @throws {ProviderError} `auth-invalid`; `unsupported` if the settings can never work
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
      // The library leaves the socket open if a login fails.
      connection?.client.close();
      const failure = connection
        ? connection.errorOf(error, 'connect')
        : toImapError(error, { stage: 'connect', secrets: secretsOf(server.login) });
      throw plainly(failure, server).at(askedOf(server));
    }
  }

  get usable(): boolean {
    return !this.#ended && this.client.usable;
  }

  /**
   * Converts a failure of a command into a `ProviderError`. If the connection was lost, the error
   * describes what ended it.
   */
  errorOf(error: unknown, stage: ImapStage = 'command'): ProviderError {
    const isLoss = (this.#ended || !this.client.usable) && !hasReason(error);
    return toImapError(isLoss && this.#failure !== null ? this.#failure : error, {
      stage,
      secrets: this.#secrets,
    }).at(this.#server);
  }

  /** Why the connection ended. `null` if it is open, or ended without a reason. */
  get failure(): ProviderError | null {
    return this.#failure === null ? null : this.errorOf(this.#failure);
  }

  /** Why the last command was refused. `null` if none was refused since the last call. */
  takeRefusal(): ProviderError | null {
    const refusal = this.#refusal;
    this.#refusal = null;
    return refusal === null ? null : this.errorOf(refusal);
  }

  /** Whether the server still answers (NOOP). */
  async probe(limitMs: number): Promise<boolean> {
    try {
      await waitFor<void>(null, (wait) => {
        wait.within(limitMs, 'no answer');
        this.client.noop().then(wait.resolve, wait.reject);
      });
    } catch {
      // Whatever the error is, this connection is not used again.
      this.destroy();
    }
    return this.usable;
  }

  /** Logs out. Resolves when the connection is closed. */
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

const askedOf = ({ host, port }: ImapServer): AskedServer => ({ protocol: 'IMAP', host, port });

const clients = new WeakMap<ImapFlow, ImapConnection>();

/**
 * The result of a library method that returns `false` or `undefined` if the server refuses the
 * command (search, status, messageFlagsAdd, messageMove, …).
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
    new ProviderError('temporary', 'The server did not execute the command')
  );
}

/**
 * Runs work on a connection with other limits for the responses to each command. Exceeding them
 * ends the connection.
 * @throws the errors of `work`
 */
export async function answersWithin<T>(
  client: ImapFlow,
  limits: Partial<AnswerLimits>,
  work: () => Promise<T>,
): Promise<T> {
  const connection = clients.get(client);
  return connection ? connection.input.within(limits, work) : work();
}

/**
 * Whether the server has reported too many vanished messages since the last call. Those messages
 * were ignored and must be found in another way.
 */
export function takeVanishedLeftOut(client: ImapFlow): boolean {
  return clients.get(client)?.input.takeLeftOut() ?? false;
}

/**
 * Whether the reply to the last command contained a FETCH response that was too long to be parsed.
 */
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
    // `ImapInput` decides which lines may be this long.
    maxLineLength: answers.lineBytes,
    maxLiteralSize: answers.literalBytes,
    // With compression each connection would keep hundreds of kilobytes of zlib state in memory.
    disableCompression: true,
    disableAutoIdle: true,
    // Servers with this extension (RFC 7162) report removed messages, so the UIDs of all messages
    // need not be read.
    qresync: true,
    ...(renewMs === undefined ? {} : { maxIdleTime: renewMs }),
  };
}

/**
 * Options for `net.connect` and `tls.connect`. The egress guard checks each address right before
 * connecting. For TLS the open connection is passed in, because the library would not pass the
 * guard on.
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

/** Whether the error itself gives a reason: a reply, or the text of BYE. */
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
