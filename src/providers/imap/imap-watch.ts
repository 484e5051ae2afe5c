import type { MailWatch, MailWatcher, ProviderAccount } from '../port/connector.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import type { ImapConnection } from './imap-connection.ts';
import type { ImapSessions } from './imap-sessions.ts';

/** An IDLE that is over sooner has told nothing: a server that does so again and again cannot be watched. */
const SHORTEST_IDLE_MS = 1_000;
const MOST_SHORT_IDLES = 5;

/**
 * Watches the inbox of an account by IDLE (RFC 2177), over a connection of its own that does nothing else. It is renewed
 * before servers end it, and asked now and then whether it is alive. What happens in other folders it does not tell.
 *
 * `onChange` is called once at the beginning, too: between the last look and the watch anything may have happened.
 * @throws {ProviderError} `unsupported` where the server has no IDLE; `rate-limited` when there are enough connections
 */
export async function watchInbox(
  sessions: ImapSessions,
  account: ProviderAccount,
  watcher: MailWatcher,
): Promise<MailWatch> {
  const { watchSilenceMs, watchRenewMs } = sessions.limits;
  const connection = await sessions.hold(account, {
    silenceMs: watchSilenceMs,
    renewMs: watchRenewMs,
  });
  const { client } = connection;
  try {
    if (!client.capabilities.has('IDLE') && !client.capabilities.has('IMAP4REV2')) {
      throw new ProviderError('unsupported', 'The server does not tell of changes (no IDLE)');
    }
    await client.mailboxOpen('INBOX', { readOnly: true });
  } catch (error) {
    await connection.quit();
    throw connection.errorOf(error);
  }
  return new InboxWatch(connection, watcher);
}

class InboxWatch implements MailWatch {
  #told = true;
  #over = false;

  constructor(
    private readonly connection: ImapConnection,
    private readonly watcher: MailWatcher,
  ) {
    const { client } = connection;
    const onChange = () => this.#tellSoon();
    client.on('exists', onChange).on('expunge', onChange).on('flags', onChange);
    client.once('close', () => this.#end(connection.failure));
    this.#told = false;
    this.#tellSoon();
    void this.#idle();
  }

  async stop() {
    this.#over = true;
    await this.connection.quit();
  }

  /** Once for all that a server tells at a time. */
  #tellSoon(): void {
    if (this.#told || this.#over) return;
    this.#told = true;
    setImmediate(() => {
      this.#told = false;
      if (!this.#over) this.watcher.onChange();
    });
  }

  #end(error: ProviderError | null): void {
    if (this.#over) return;
    this.#over = true;
    this.connection.destroy();
    this.watcher.onEnd(error);
  }

  /** The library leaves IDLE when it asks whether the server is alive, and when the server ends it. */
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
