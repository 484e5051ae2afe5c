import type { EgressPolicy } from '../../platform/egress/egress-policy.ts';
import type { OutgoingMessage, SendControl, SendReceipt } from '../port/connector.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { KeptSessions } from './kept-sessions.ts';
import { GivenUpError, StaleSessionError, toProviderError } from './smtp-failure.ts';
import { SmtpSession } from './smtp-session.ts';
import { SMTP_LIMITS, type SmtpLimits, type SmtpServer } from './smtp-settings.ts';

/** For checking a server as a whole. Milliseconds. */
const VERIFY_MS = 30_000;

/**
 * Sends mail by SMTP submission, for everything in this product that does. One message is one attempt: nothing is
 * repeated here. Connections are kept for a while, each for the key and the server it was opened for.
 *
 * What an error means is decided by how far the exchange came, not by the library's codes, which are the same before
 * and after the server has taken the message:
 *
 * - a refusal (4xx, 5xx) at any time: not sent, see `smtpVerdict`
 * - anything else before the content was given away whole: not sent, `temporary`
 * - anything else afterwards: `outcome-unknown`
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
   * @param key whose connections these are (account or application): never shared between keys
   * @param control all five phases are told, also where a kept connection needs no new login; they begin again when a kept
   *   connection turns out to be dead before the server took anything of the message
   * @throws {ProviderError} as above; what `control.onPhase` throws is let through as it is
   */
  async send(
    key: string,
    server: SmtpServer,
    message: OutgoingMessage,
    control: SendControl,
  ): Promise<SendReceipt> {
    const id = identityOf(key, server);
    if (control.signal.aborted)
      throw toProviderError(new GivenUpError(), {
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
        // Its siblings are as old: this attempt does not try them one by one.
        control.onPhase('connect');
      }
    }
    const session = await this.#start(server, control).catch(forSending);
    return this.#sendOver({ id, session, kept: false }, message, control);
  }

  /**
   * Logs in; with `from` also asks whether the server takes mail from that address, without sending any.
   * @throws {ProviderError} `auth-invalid` when the login is refused; `unsupported` when the settings can never work
   */
  async verify(key: string, server: SmtpServer, from?: string): Promise<void> {
    const id = identityOf(key, server);
    // A login of some seconds ago proves nothing about now.
    const signal = AbortSignal.timeout(VERIFY_MS);
    const session = await this.#start(server, null, signal);
    try {
      if (from !== undefined) await session.askSender(from, signal);
    } finally {
      this.#release(id, session);
    }
  }

  /** Closes kept connections politely and cuts those in use. Afterwards nothing is kept any more. */
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

  /** Keeps it; one that has something to clear up is kept as soon as it has, while nobody waits for that. */
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

/** Settings that were fit when they were stored may become so again: a message is not lost over them. */
function forSending(error: unknown): never {
  if (!(error instanceof ProviderError) || error.code !== 'unsupported') throw error;
  const { message, phase, cause } = error;
  throw new ProviderError('temporary', message, { ...(phase ? { phase } : {}), cause });
}

/** Another password is another server: who has lost access does not keep it over an old connection. */
function identityOf(key: string, server: SmtpServer): string {
  const { host, port, security, login } = server;
  // Not a digest: kept connections have the login themselves.
  return JSON.stringify([key, host, port, security, login]);
}
