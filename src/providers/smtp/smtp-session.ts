import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Socket } from 'node:net';
import SMTPConnection from 'nodemailer/lib/smtp-connection/index.js';
import XOAuth2 from 'nodemailer/lib/xoauth2/index.js';
import type { EgressPolicy } from '../../platform/egress/egress-policy.ts';
import type { OutgoingMessage, SendControl, SendReceipt } from '../port/connector.ts';
import { ProviderError, type SendPhase } from '../../platform/base/errors/provider-error.ts';
import { type BodyListener, MessageBody } from './smtp-body.ts';
import {
  extensionsOf, type PreparedEnvelope, prepareEnvelope, type SmtpExtensions, wireAddress,
} from './smtp-envelope.ts'; // prettier-ignore
import {
  type FailureContext, isReply, type LibraryError, ofReply, SmtpClosedError, SmtpTroubleError, StaleSessionError,
  toProviderError,
} from './smtp-failure.ts'; // prettier-ignore
import { nobodyAccepted, sortRecipients } from './smtp-recipients.ts';
import { REPLY_BYTES, SmtpReplies } from './smtp-replies.ts';
import { wordsOf } from './smtp-reply.ts';
import type { SmtpLimits, SmtpServer } from './smtp-settings.ts';
import { isTrustedHost, openSocket } from './smtp-socket.ts';
import type { SmtpStage } from './smtp-verdict.ts';
import { type Wait, waitFor } from './wait.ts';

/** Name of the "login" that asks about a sender: the library lets nobody else put a single command. */
const ASK_SENDER = 'ASK-SENDER';
/** How long a server may take for its farewell. */
const FAREWELL_MS = 2_000;
const LATE = 'the server did not answer in time';

/** What one message's exchange has come to. */
interface Exchange {
  phase: SendPhase;
  /** Set when the caller stopped it: its own error. */
  stopped: { error: unknown } | null;
  kept: boolean;
}

type SendInfo = SMTPConnection.SentMessageInfo;

/**
 * One connection to a mail server, used by one caller at a time. Every failure ends it, but a refusal of a message: then
 * `reset` makes it fit for the next one.
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
  /** Over as soon as everything that came with the last reply has been looked at. */
  #settling: Promise<void> | null = null;
  readonly #replies: SmtpReplies;
  #sender = '';
  #senderReply = '';
  /** Called once, when the connection is gone. */
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
    this.#connection = new SMTPConnection({
      host: server.host,
      port: server.port,
      name: limits.name,
      connection: socket,
      secure: server.security === 'tls',
      requireTLS: server.security === 'starttls',
      ignoreTLS: server.security === 'none',
      tls: {
        rejectUnauthorized: true,
        minVersion: 'TLSv1.2',
        ...(limits.ca ? { ca: limits.ca } : {}),
      },
      connectionTimeout: leftMs,
      greetingTimeout: leftMs,
      // Ours are the waits: the library has one limit for all of them.
      socketTimeout:
        2 * Math.max(limits.commandMs, limits.contentMs, limits.confirmationMs, limits.idleMs),
      // What is abandoned in the middle has to be cut: a polite end would leave the rest of the content on its way.
      socketCloseTimeout: 0,
      maxResponseSize: REPLY_BYTES,
      customAuth: { [ASK_SENDER]: (context) => this.#ask(context) },
    });
    this.#replies = new SmtpReplies(this.#connection, () => {
      this.#wait?.reject(new SmtpTroubleError('the server says more than is taken'));
      this.destroy();
    });
    this.#connection.on('error', (error) => this.#wait?.reject(error));
    this.#connection.once('end', () => {
      this.#ended = true;
      // The library may be about to say why.
      queueMicrotask(() => this.#wait?.reject(new SmtpClosedError()));
      this.onEnd?.();
    });
  }

  /**
   * Connects and greets; encrypted, where the server's settings ask for it.
   * @throws {ProviderError} phase `connect`; `unsupported` when the settings can never work
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

  /** Whether it can take another message. */
  get usable(): boolean {
    return !this.#ended && this.#messages < this.#limits.messagesPerConnection;
  }

  /**
   * Logs in, where the settings have a login.
   * @throws {ProviderError} phase `login`; `unsupported` when credentials would go over the wire in the clear
   */
  async login(signal: AbortSignal | null): Promise<void> {
    const { login, security } = this.#server;
    if (!login) return;
    try {
      if (!this.#connection.secure && !(security === 'none' && this.#trusted)) {
        throw this.#unsupported('Credentials are not given to this server without encryption');
      }
      if (!this.#connection.allowsAuth) throw this.#unsupported('The server offers no login');
      const late = 'the server did not answer the login in time';
      await this.#command(signal, late, (done) => this.#connection.login(authOf(login), done));
    } catch (error) {
      this.destroy();
      throw toProviderError(error, { phase: 'login', stage: 'login', secrets: this.#secrets });
    }
  }

  /**
   * Sends one message. Phases `envelope`, `content` and `confirmation` are told before they begin.
   * @param kept the connection was kept for a while: it may be dead
   * @throws {StaleSessionError} it was kept and is dead, and the server took nothing of this message
   * @throws {ProviderError} the message was not sent, or `outcome-unknown`
   */
  async send(message: OutgoingMessage, control: SendControl, kept: boolean): Promise<SendReceipt> {
    const prepared = prepareEnvelope(message, this.#extensions);
    // A stray reply in the same packet as the last one must not answer the next command.
    if (this.#settling) await this.#settling;
    control.onPhase('envelope');
    const exchange: Exchange = { phase: 'envelope', stopped: null, kept };
    this.#connection.lastServerResponse = false;
    try {
      const info = await this.#exchange(message, prepared, control, exchange);
      // A server that confirms what it cannot have yet is out of step with us: nothing it says can be believed.
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
   * Asks whether the server takes mail from an address, without sending any.
   * @throws {ProviderError} phase `envelope`
   */
  async askSender(email: string, signal: AbortSignal | null): Promise<void> {
    const context: FailureContext = { phase: 'envelope', stage: 'sender', secrets: this.#secrets };
    const wire = wireAddress(email, this.#extensions);
    if (wire === null)
      throw new ProviderError('rejected', 'The server takes no such address (SMTPUTF8)', context);
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

  /** Whether nothing is left of an earlier message. */
  get clean(): boolean {
    return !this.#dirty;
  }

  /** Ends what is left of a refused message; `usable` says whether that worked. */
  async reset(): Promise<void> {
    try {
      await this.#command(null, LATE, (done) => this.#connection.reset(done));
      this.#dirty = false;
    } catch {
      // The message it was about has long got its answer; without the connection nothing is lost.
      this.destroy();
    }
  }

  /** Says farewell and closes; resolves when it is closed. */
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
        // What this would send, nobody would hear of: the stream runs ahead of promises.
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
        // From here on a cut would only make more doubt.
        wait.carryOn();
        until = performance.now() + contentMs;
      },
      onBlock() {
        const leftMs = Math.max(until - performance.now(), 1);
        wait.within(Math.min(commandMs, leftMs), 'the server did not take the content in time');
      },
      onEnd() {
        enter('confirmation');
        wait.within(confirmationMs, 'no answer in time');
      },
    };
  }

  /** Whatever is written before the next turn leaves together: of a short message the content and the final dot. */
  #gather(): void {
    const socket = this.#connection._socket;
    if (!socket) return;
    socket.cork();
    setImmediate(() => socket.uncork());
  }

  /** What a failed exchange means; leaves the session either fit to be reset or cut. */
  #failed(error: unknown, prepared: PreparedEnvelope, { phase, stopped, kept }: Exchange): unknown {
    const refusal = isReply(error) && phase !== 'content' && !this.#ended;
    this.#dirty = true;
    if (stopped || !refusal) this.destroy();
    if (stopped) return stopped.error;
    if (phase === 'envelope' && kept && this.#saidNothing(error)) {
      return new StaleSessionError('the connection had been closed', { cause: error });
    }
    // The library notes refusals in the envelope it was given, also where it reports none.
    const noted = (prepared.envelope as { rejectedErrors?: LibraryError[] }).rejectedErrors ?? [];
    const sorted = sortRecipients(noted, prepared.originals, this.#secrets);
    const refused = [...prepared.refused, ...sorted.refused];
    if ((error as LibraryError).rejectedErrors) return nobodyAccepted({ ...sorted, refused });
    const stage = stageOf(error, phase);
    return toProviderError(error, {
      phase, stage, secrets: this.#secrets, refused, deferred: sorted.deferred,
    }); // prettier-ignore
  }

  /**
   * Whether the server has not said a word since the message began, or only that it is closing: 421, or x.4.2 (Gmail's
   * idle timeout) in answer to MAIL. It has then accepted nothing of the envelope.
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

  /** One of the library's calls that tell by a callback whether they went well. @param late what is said when it takes too long */
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

/** Whether the connection was lost, as opposed to our own giving up. */
function isLoss(error: unknown): boolean {
  const { code } = error as LibraryError;
  return code === 'ECONNECTION' || code === 'ESOCKET' || error instanceof SmtpClosedError;
}

function stageOf(error: unknown, phase: SendPhase): SmtpStage {
  const { command, code } = error as LibraryError;
  if (command === 'MAIL FROM') return 'sender';
  if (command === 'RCPT TO') return 'recipient';
  return code === 'EMESSAGE' || phase === 'confirmation' ? 'message' : 'data';
}

function authOf(login: NonNullable<SmtpServer['login']>) {
  const { user } = login;
  if ('accessToken' in login) {
    return {
      user,
      method: 'XOAUTH2',
      oauth2: new XOAuth2({ user, accessToken: login.accessToken }),
    };
  }
  return { user, credentials: { user, pass: login.password } };
}

function secretsOf(login: SmtpServer['login']): string[] {
  if (!login) return [];
  const { user } = login;
  // As they go over the wire, too (RFC 4616, XOAUTH2): some servers repeat the command they refuse.
  if (!('accessToken' in login)) return [login.password, `\0${user}\0${login.password}`];
  return [login.accessToken, `user=${user}\u0001auth=Bearer ${login.accessToken}\u0001\u0001`];
}
