import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Socket } from 'node:net';
import type SMTPConnection from 'nodemailer/lib/smtp-connection/index.js';
import type { EgressPolicy } from '../../platform/egress/egress-policy.ts';
import type { OutgoingMessage, SendControl, SendReceipt } from '../port/connector.ts';
import { ProviderError, type SendPhase } from '../../platform/base/errors/provider-error.ts';
import { type BodyListener, MessageBody } from './smtp-body.ts';
import { authOf, connectionOf, secretsOf } from './smtp-connection.ts';
import {
  extensionsOf,
  type PreparedEnvelope,
  prepareEnvelope,
  type SmtpExtensions,
  wireAddress,
} from './smtp-envelope.ts';
import {
  type FailureContext,
  isLoss,
  isReply,
  type LibraryError,
  ofReply,
  SmtpClosedError,
  SmtpTroubleError,
  stageOf,
  StaleSessionError,
  toProviderError,
} from './smtp-failure.ts';
import { allRecipientsRefused, sortRecipients } from './smtp-recipients.ts';
import { SmtpReplies } from './smtp-replies.ts';
import { wordsOf } from './smtp-reply.ts';
import type { SmtpLimits, SmtpServer } from './smtp-settings.ts';
import { isTrustedHost, openSocket } from './smtp-socket.ts';
import { type Wait, waitFor } from './wait.ts';

/**
 * Name of a custom "login" that only asks about a sender. The library offers no other way to send a
 * single command.
 */
const ASK_SENDER = 'ASK-SENDER';
/** How long a server may take to answer QUIT. */
const FAREWELL_MS = 2_000;
const LATE = 'the server did not answer in time';

/** Progress of the exchange of one message. */
interface Exchange {
  phase: SendPhase;
  /** The caller's own error, if `onPhase` threw. */
  stopped: { error: unknown } | null;
  kept: boolean;
}

type SendInfo = SMTPConnection.SentMessageInfo;

/**
 * One connection to a mail server, used by one caller at a time. Every failure closes it, except
 * the refusal of a message: then `reset` prepares it for the next message.
 */
export class SmtpSession {
  readonly #connection: SMTPConnection;
  readonly #limits: SmtpLimits;
  readonly #server: SmtpServer;
  readonly #trusted: boolean;
  readonly #secrets: readonly string[];
  #extensions: SmtpExtensions = { utf8: false, maxBytes: null };
  #wait: Wait<never> | null = null;
  #ended = false;
  #messages = 0;
  #dirty = false;
  /** Resolves when all data that came with the last reply has been processed. */
  #settling: Promise<void> | null = null;
  readonly #replies: SmtpReplies;
  #sender = '';
  #senderReply = '';
  /** Called once, when the connection is closed. */
  onEnd: (() => void) | null = null;

  private constructor(
    server: SmtpServer,
    limits: SmtpLimits,
    socket: Socket,
    trusted: boolean,
    leftMs: number,
  ) {
    this.#server = server;
    this.#limits = limits;
    this.#trusted = trusted;
    this.#secrets = secretsOf(server.login);
    this.#connection = connectionOf(server, limits, socket, leftMs, {
      [ASK_SENDER]: (context) => this.#ask(context),
    });
    this.#replies = new SmtpReplies(this.#connection, () => {
      this.#wait?.reject(new SmtpTroubleError('the server sent more data than is accepted'));
      this.destroy();
    });
    this.#connection.on('error', (error) => this.#wait?.reject(error));
    this.#connection.once('end', () => {
      this.#ended = true;
      // In the same tick the library may still report the reason.
      queueMicrotask(() => this.#wait?.reject(new SmtpClosedError()));
      this.onEnd?.();
    });
  }

  /**
   * Connects, encrypts if the settings ask for it, and reads the greeting and the reply to EHLO.
   * @throws {ProviderError} phase `connect`; `unsupported` if the settings can never work
   */
  static async open(
    server: SmtpServer,
    policy: EgressPolicy,
    limits: SmtpLimits,
    signal: AbortSignal | null,
  ): Promise<SmtpSession> {
    let session: SmtpSession | undefined;
    try {
      const begun = performance.now();
      const socket = await openSocket(server, policy, limits.connectMs, signal);
      const leftMs = Math.max(limits.connectMs - (performance.now() - begun), 1);
      const trusted = isTrustedHost(policy, server.host, socket);
      const made = new SmtpSession(server, limits, socket, trusted, leftMs);
      session = made;
      await made.#command(
        signal,
        LATE,
        (done) => made.#connection.connect(done),
        leftMs + limits.commandMs,
      );
      made.#extensions = extensionsOf(made.#connection.lastServerResponse || '');
      return made;
    } catch (error) {
      session?.destroy();
      throw toProviderError(error, {
        phase: 'connect',
        stage: 'connect',
        secrets: secretsOf(server.login),
      });
    }
  }

  /** Whether the session can take another message. */
  get usable(): boolean {
    return !this.#ended && this.#messages < this.#limits.messagesPerConnection;
  }

  /**
   * Logs in, if the settings have a login.
   * @throws {ProviderError} phase `login`; `unsupported` if the credentials would be sent
   *   unencrypted
   */
  async login(signal: AbortSignal | null): Promise<void> {
    const { login, security } = this.#server;
    if (!login) return;
    try {
      if (!this.#connection.secure && !(security === 'none' && this.#trusted)) {
        throw this.#unsupported('Credentials are not sent to this server without encryption');
      }
      if (!this.#connection.allowsAuth)
        throw this.#unsupported('The server does not offer a login');
      const late = 'the server did not answer the login in time';
      await this.#command(signal, late, (done) => this.#connection.login(authOf(login), done));
    } catch (error) {
      this.destroy();
      throw toProviderError(error, { phase: 'login', stage: 'login', secrets: this.#secrets });
    }
  }

  /**
   * Sends one message. Announces the phases `envelope`, `content` and `confirmation` before each
   * begins.
   * @param kept true if the connection was kept open after an earlier message, so that it may be
   *   dead
   * @throws {StaleSessionError} if a kept connection is dead and the server accepted no part of
   *   this message
   * @throws {ProviderError} the message was not sent, or `outcome-unknown`
   */
  async send(message: OutgoingMessage, control: SendControl, kept: boolean): Promise<SendReceipt> {
    const prepared = prepareEnvelope(message, this.#extensions);
    // An extra reply in the same packet as the last one must not be taken for the reply to the
    // next command.
    if (this.#settling) await this.#settling;
    control.onPhase('envelope');
    const exchange: Exchange = { phase: 'envelope', stopped: null, kept };
    this.#connection.lastServerResponse = false;
    try {
      const info = await this.#exchange(message, prepared, control, exchange);
      // A server that confirms before it can have the content is out of step. None of its replies
      // can be trusted.
      if (exchange.phase !== 'confirmation')
        throw new SmtpTroubleError('the server answered before the end of the content');
      this.#messages++;
      this.#settling = nextTurn().finally(() => (this.#settling = null));
      const { refused, deferred } = sortRecipients(
        info.rejectedErrors ?? [],
        prepared.originals,
        this.#secrets,
      );
      return {
        accepted: info.accepted.flatMap((wire) => prepared.originals.get(wire) ?? [wire]),
        refused: [...prepared.refused, ...refused],
        deferred,
        response: wordsOf(info.response, this.#secrets),
      };
    } catch (error) {
      throw this.#failed(error, prepared, exchange);
    }
  }

  /**
   * Asks whether the server accepts mail from an address, without sending any.
   * @throws {ProviderError} phase `envelope`
   */
  async askSender(email: string, signal: AbortSignal | null): Promise<void> {
    const context: FailureContext = { phase: 'envelope', stage: 'sender', secrets: this.#secrets };
    const wire = wireAddress(email, this.#extensions);
    if (wire === null)
      throw new ProviderError(
        'rejected',
        'The server does not accept such an address (SMTPUTF8)',
        context,
      );
    this.#sender = /^\p{ASCII}*$/u.test(wire) ? `<${wire}>` : `<${wire}> SMTPUTF8`;
    try {
      const auth = { method: ASK_SENDER, user: '', pass: '' };
      await this.#command(signal, LATE, (done) => this.#connection.login(auth, done));
    } catch (error) {
      this.destroy();
      throw toProviderError(error, context);
    }
    if (!this.#senderReply.startsWith('2')) throw ofReply(this.#senderReply, context);
  }

  /** Whether no state of an earlier message is left on the connection. */
  get clean(): boolean {
    return !this.#dirty;
  }

  /**
   * Clears the state left by a refused message. Check `usable` afterwards: it is false if that
   * failed.
   */
  async reset(): Promise<void> {
    try {
      await this.#command(null, LATE, (done) => this.#connection.reset(done));
      this.#dirty = false;
    } catch {
      // The result of the message was returned long ago; losing the connection costs nothing.
      this.destroy();
    }
  }

  /** Sends QUIT and closes. Resolves when the connection is closed. */
  async quit(): Promise<void> {
    if (this.#ended) return;
    const closed = new Promise<void>((resolve) => this.#connection.once('end', resolve));
    const timer = setTimeout(() => this.destroy(), FAREWELL_MS);
    this.#connection.quit();
    await closed;
    clearTimeout(timer);
  }

  destroy(): void {
    this.#connection.close();
  }

  #exchange(
    { mime }: OutgoingMessage,
    { envelope }: PreparedEnvelope,
    control: SendControl,
    exchange: Exchange,
  ): Promise<SendInfo> {
    return this.#step<SendInfo>(control.signal, (wait) => {
      const enter = (phase: SendPhase) => {
        try {
          control.onPhase(phase);
        } catch (error) {
          exchange.stopped = { error };
          throw error;
        }
        // The stream may ask for content before the promise has reported that the wait is over. No
        // caller would get the result of content that is sent now.
        if (wait.over) throw new SmtpTroubleError('the exchange has ended');
        exchange.phase = phase;
      };
      const limitMs = this.#limits.commandMs * (1 + envelope.to.length / 10);
      this.#replies.begin(envelope.to.length);
      wait.within(limitMs, LATE);
      const body = new MessageBody(mime, this.#listener(wait, enter));
      this.#connection.send(envelope, body, (error, info) =>
        error ? wait.reject(error) : wait.resolve(info),
      );
    });
  }

  #listener(wait: Wait<SendInfo>, enter: (phase: SendPhase) => void): BodyListener {
    const { commandMs, contentMs, confirmationMs } = this.#limits;
    const gather = () => this.#gather();
    let until = 0;
    return {
      onBegin() {
        enter('content');
        gather();
        // Once the content is on its way, an abort no longer cuts the exchange: that could only
        // make the outcome unknown.
        wait.carryOn();
        until = performance.now() + contentMs;
      },
      onBlock() {
        const leftMs = Math.max(until - performance.now(), 1);
        wait.within(Math.min(commandMs, leftMs), 'the server did not accept the content in time');
      },
      onEnd() {
        enter('confirmation');
        wait.within(confirmationMs, 'no answer in time');
      },
    };
  }

  /**
   * Combines everything written before the next event-loop iteration into one packet. A short
   * message is then sent together with its final dot.
   */
  #gather(): void {
    const socket = this.#connection._socket;
    if (!socket) return;
    socket.cork();
    setImmediate(() => socket.uncork());
  }

  /**
   * Decides what a failed exchange means. Afterwards the session is either ready for `reset` or
   * closed.
   */
  #failed(error: unknown, prepared: PreparedEnvelope, { phase, stopped, kept }: Exchange): unknown {
    const refusal = isReply(error) && phase !== 'content' && !this.#ended;
    this.#dirty = true;
    if (stopped || !refusal) this.destroy();
    if (stopped) return stopped.error;
    if (phase === 'envelope' && kept && this.#saidNothing(error)) {
      return new StaleSessionError('the connection had been closed', { cause: error });
    }
    // The library records refusals in the envelope object it was given, even if it does not report
    // them.
    const noted = (prepared.envelope as { rejectedErrors?: LibraryError[] }).rejectedErrors ?? [];
    const sorted = sortRecipients(noted, prepared.originals, this.#secrets);
    const refused = [...prepared.refused, ...sorted.refused];
    if ((error as LibraryError).rejectedErrors) return allRecipientsRefused({ ...sorted, refused });
    const stage = stageOf(error, phase);
    return toProviderError(error, {
      phase,
      stage,
      secrets: this.#secrets,
      refused,
      deferred: sorted.deferred,
    });
  }

  /**
   * Whether the server has sent nothing since the message began, or only a notice that it is
   * closing: 421, or x.4.2 (Gmail's idle timeout) in reply to MAIL. The server has then accepted no
   * part of the envelope.
   */
  #saidNothing(error: unknown): boolean {
    if (!isReply(error)) return this.#connection.lastServerResponse === false && isLoss(error);
    const { command, responseCode, response } = error;
    return (
      command === 'MAIL FROM' && (responseCode === 421 || /^\d{3}[ -]\d\.4\.2\s/.test(response))
    );
  }

  async #ask({ sendCommand }: SMTPConnection.CustomAuthenticationContext): Promise<void> {
    this.#dirty = true;
    const { response } = await sendCommand(`MAIL FROM:${this.#sender}`);
    this.#senderReply = response;
  }

  #unsupported(message: string): ProviderError {
    return new ProviderError('unsupported', message, { phase: 'login' });
  }

  /**
   * Runs one call of the library that reports success or failure by a callback.
   * @param late error text if the call takes too long
   */
  #command(
    signal: AbortSignal | null,
    late: string,
    call: (done: (error?: Error | null) => void) => void,
    limitMs = this.#limits.commandMs,
  ): Promise<void> {
    return this.#step<void>(signal, (wait) => {
      wait.within(limitMs, late);
      call((error) => (error ? wait.reject(error) : wait.resolve()));
    });
  }

  #step<T>(signal: AbortSignal | null, start: (wait: Wait<T>) => void): Promise<T> {
    return waitFor<T>(signal, (wait) => {
      this.#wait = wait as Wait<never>;
      start(wait);
    }).finally(() => {
      this.#wait = null;
    });
  }
}
