import type { MailWatch, MailWatcher, ProviderAccount } from '../../port/connector.ts';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import type { ImapConnection } from './imap-connection.ts';
import type { ImapSessions } from './imap-sessions.ts';

/**
 * A shorter IDLE counts as failed. A server that repeatedly ends IDLE this soon cannot be watched.
 */
const SHORTEST_IDLE_MS = 1_000;
const MOST_SHORT_IDLES = 5;
/**
 * The library probes a connection after one time of silence, and closes it after another. But its
 * probe waits for ever if the server has not confirmed IDLE. Then the watch ends after three.
 */
const MOST_SILENCES = 3;

/**
 * Watches the inbox of an account with IDLE (RFC 2177), over a separate connection. IDLE is renewed
 * before servers end it, and a connection that was silent for long is probed. Changes in other
 * folders are not reported.
 *
 * `onChange` is also called once at the beginning, because the mailbox may have changed between the
 * last sync pass and the watch.
 * @throws {ProviderError} `unsupported` if the server has no IDLE; `rate-limited` if too many
 *   connections are open
 */
export async function watchInbox(
  sessions: ImapSessions,
  account: ProviderAccount,
  watcher: MailWatcher,
): Promise<MailWatch> {
  const { watchSilenceMs, watchRenewMs } = sessions.limits;
  const connection = await sessions.openForWatching(account, {
    silenceMs: watchSilenceMs,
    renewMs: watchRenewMs,
  });
  const { client } = connection;
  try {
    if (!client.capabilities.has('IDLE') && !client.capabilities.has('IMAP4REV2')) {
      throw new ProviderError('unsupported', 'The server does not report changes (no IDLE)');
    }
    await client.mailboxOpen('INBOX', { readOnly: true });
  } catch (error) {
    await connection.quit();
    throw connection.errorOf(error);
  }
  return new InboxWatch(connection, watcher, watchSilenceMs);
}

class InboxWatch implements MailWatch {
  #notified = true;
  #over = false;
  readonly #listening: NodeJS.Timeout;

  /** @param silenceMs after this time without an answer, the library probes the connection */
  constructor(
    private readonly connection: ImapConnection,
    private readonly watcher: MailWatcher,
    silenceMs: number,
  ) {
    const { client } = connection;
    const onChange = () => this.#notifySoon();
    client.on('exists', onChange).on('expunge', onChange).on('flags', onChange);
    client.once('close', () => this.#end(connection.failure));
    this.#notified = false;
    this.#notifySoon();
    this.#listening = this.#endAfterSilence(silenceMs);
    void this.#idle();
  }

  async stop() {
    this.#over = true;
    clearInterval(this.#listening);
    await this.connection.quit();
  }

  /** Notifies once for all changes that the server reports together. */
  #notifySoon(): void {
    if (this.#notified || this.#over) return;
    this.#notified = true;
    setImmediate(() => {
      this.#notified = false;
      if (!this.#over) this.watcher.onChange();
    });
  }

  #end(error: ProviderError | null): void {
    if (this.#over) return;
    this.#over = true;
    clearInterval(this.#listening);
    this.connection.destroy();
    this.watcher.onEnd(error);
  }

  #endAfterSilence(silenceMs: number): NodeJS.Timeout {
    const received = () => this.connection.client.stats().received;
    let [before, silences] = [received(), 0];
    return setInterval(() => {
      const now = received();
      silences = now === before ? silences + 1 : 0;
      before = now;
      if (silences >= MOST_SILENCES)
        this.#end(new ProviderError('temporary', 'The server does not answer any more'));
    }, silenceMs).unref();
  }

  /** The library leaves IDLE when it probes the server, and when the server ends IDLE. */
  async #idle(): Promise<void> {
    const { client } = this.connection;
    let short = 0;
    while (!this.#over && this.connection.usable) {
      const begun = performance.now();
      this.connection.takeRefusal();
      try {
        await client.idle();
      } catch (error) {
        return this.#end(this.connection.errorOf(error));
      }
      const refusal = this.connection.takeRefusal();
      short = performance.now() - begun < SHORTEST_IDLE_MS ? short + 1 : 0;
      if (this.connection.usable && (refusal !== null || short >= MOST_SHORT_IDLES))
        return this.#end(
          refusal ?? new ProviderError('temporary', 'The server does not stay in IDLE'),
        );
    }
  }
}
