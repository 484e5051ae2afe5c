import type { EgressPolicy } from '../../platform/egress/egress-policy.ts';
import type { OutgoingMessage, SendControl, SendReceipt } from '../port/connector.ts';
import {
  type AskedServer,
  asking,
  ProviderError,
} from '../../platform/base/errors/provider-error.ts';
import { KeptSessions } from './kept-sessions.ts';
import { SendAbortedError, StaleSessionError, toProviderError } from './smtp-failure.ts';
import { SmtpSession } from './smtp-session.ts';
import { SMTP_LIMITS, type SmtpLimits, type SmtpServer } from './smtp-settings.ts';

/** Time limit for checking a server, in milliseconds. */
const VERIFY_MS = 30_000;

/**
 * Sends mail by SMTP submission, for accounts, mailing services and Carillon's own mail. One call
 * is one attempt; this class never retries. Connections are kept for a while and reused only for
 * the same key, server and login.
 *
 * How far the exchange came decides what an error means. The library's codes cannot, because they
 * are the same before and after the server has accepted the message:
 *
 * - a refusal (4xx, 5xx) at any time: not sent, see `smtpVerdict`;
 * - any other error before the whole content was sent: not sent, `temporary`;
 * - any other error afterwards: `outcome-unknown`.
 */
export class SmtpSender {
  readonly #limits: SmtpLimits;
  readonly #kept: KeptSessions<SmtpSession>;
  readonly #open = new Set<SmtpSession>();
  #closed = false;

  constructor(
    private readonly policy: EgressPolicy,
    limits: Partial<SmtpLimits> = {},
  ) {
    this.#limits = { ...SMTP_LIMITS, ...limits };
    this.#kept = new KeptSessions(this.#limits);
  }

  /**
   * Sends one message.
   * @param key owner of the connections (account or application); connections are never shared
   *   between keys
   * @param control all five phases are announced, even if a kept connection needs no new login.
   *   They start again from `connect` if a kept connection turns out to be dead before the server
   *   accepted any part of the message
   * @throws {ProviderError} as described for the class; errors thrown by `control.onPhase` are
   *   rethrown unchanged
   */
  send(
    key: string,
    server: SmtpServer,
    message: OutgoingMessage,
    control: SendControl,
  ): Promise<SendReceipt> {
    return asking(askedOf(server), () => this.#send(key, server, message, control));
  }

  async #send(
    key: string,
    server: SmtpServer,
    message: OutgoingMessage,
    control: SendControl,
  ): Promise<SendReceipt> {
    const id = identityOf(key, server);
    if (control.signal.aborted)
      throw toProviderError(new SendAbortedError(), {
        phase: 'connect',
        stage: 'connect',
        secrets: [],
      });
    control.onPhase('connect');
    const kept = this.#kept.take(id);
    if (kept) {
      try {
        return await this.#sendOver({ id, session: kept, kept: true }, message, control);
      } catch (error) {
        if (!(error instanceof StaleSessionError)) throw error;
        // Other kept connections are as old and probably dead too. This attempt does not try them
        // one by one.
        control.onPhase('connect');
      }
    }
    const session = await this.#start(server, control).catch(forSending);
    return this.#sendOver({ id, session, kept: false }, message, control);
  }

  /**
   * Logs in. With `from`, also asks whether the server accepts mail from that address, without
   * sending any.
   * @throws {ProviderError} `auth-invalid` if the login is refused; `unsupported` if the settings
   *   can never work
   */
  async verify(key: string, server: SmtpServer, from?: string): Promise<void> {
    const id = identityOf(key, server);
    // A kept connection is not used here: its login some seconds ago does not prove that the login
    // works now.
    const signal = AbortSignal.timeout(VERIFY_MS);
    await asking(askedOf(server), async () => {
      const session = await this.#start(server, null, signal);
      try {
        if (from !== undefined) await session.askSender(from, signal);
      } finally {
        this.#release(id, session);
      }
    });
  }

  /**
   * Closes kept connections politely and cuts those in use. Afterwards no connection is kept any
   * more.
   */
  async close(): Promise<void> {
    this.#closed = true;
    const idle = this.#kept.takeAll();
    for (const session of this.#open) if (!idle.includes(session)) session.destroy();
    await Promise.all(idle.map((session) => session.quit()));
  }

  onApplicationShutdown(): Promise<void> {
    return this.close();
  }

  async #start(
    server: SmtpServer,
    control: SendControl | null,
    signal = control?.signal ?? null,
  ): Promise<SmtpSession> {
    const session = await SmtpSession.open(server, this.policy, this.#limits, signal);
    this.#open.add(session);
    session.onEnd = () => {
      this.#open.delete(session);
      this.#kept.drop(session);
    };
    if (this.#closed) session.destroy();
    try {
      control?.onPhase('login');
    } catch (error) {
      session.destroy();
      throw error;
    }
    await session.login(signal);
    return session;
  }

  async #sendOver(
    { id, session, kept }: { id: string; session: SmtpSession; kept: boolean },
    message: OutgoingMessage,
    control: SendControl,
  ): Promise<SendReceipt> {
    try {
      if (kept) control.onPhase('login');
      return await session.send(message, control, kept);
    } finally {
      this.#release(id, session);
    }
  }

  /**
   * Keeps the connection. One that needs a reset first is reset in the background and kept
   * afterwards.
   */
  #release(id: string, session: SmtpSession): void {
    if (this.#closed || !session.usable) void session.quit();
    else if (session.clean) this.#kept.put(id, session);
    else {
      void session.reset().then(() => {
        if (this.#closed || !session.usable) return session.quit();
        this.#kept.put(id, session);
      });
    }
  }
}

const askedOf = ({ host, port }: SmtpServer): AskedServer => ({ protocol: 'SMTP', host, port });

/**
 * Turns `unsupported` into `temporary`: the settings worked when they were stored and may work
 * again, so the message must not be lost.
 */
function forSending(error: unknown): never {
  if (!(error instanceof ProviderError) || error.code !== 'unsupported') throw error;
  const { message, phase, cause } = error;
  throw new ProviderError('temporary', message, { ...(phase ? { phase } : {}), cause });
}

/**
 * Identity of a kept connection. The login is part of it, so that a client with a changed or
 * revoked password cannot use an old connection.
 */
function identityOf(key: string, server: SmtpServer): string {
  const { host, port, security, login } = server;
  // A digest would hide nothing: kept connections contain the login anyway.
  return JSON.stringify([key, host, port, security, login]);
}
