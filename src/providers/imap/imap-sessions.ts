import { createHash } from 'node:crypto';
import type { ImapFlow } from 'imapflow';
import type { EgressPolicy } from '../../platform/egress/egress-policy.ts';
import type { ProviderAccount } from '../port/connector.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { KeptSessions } from '../smtp/kept-sessions.ts';
import { waitFor } from '../smtp/wait.ts';
import { type ImapServer, imapServerOf } from './imap.settings.ts';
import { type ConnectionTraits, ImapConnection } from './imap-connection.ts';
import { isImapRefusal, toImapError } from './imap-error.ts';
import { VERIFY_LIMITS } from './imap-input.ts';
import { IMAP_LIMITS, type ImapLimits } from './imap-limits.ts';
import { ImapSlots, type Place } from './imap-slots.ts';

export interface UseOptions {
  /** Aborted: the use ends at once, with `temporary`, and its connection is cut. */
  signal?: AbortSignal;
  /** For the use as a whole, in milliseconds, waiting for a connection not counted; default `ImapLimits.useMs`. */
  limitMs?: number;
}

/** A connection somebody needs. */
interface Want extends Place {
  /** Connections of the same identity may be shared, one after the other. */
  id: string;
  server: ImapServer;
}

interface Waiter {
  want: Want;
  /** Gets a connection, or the place for a new one; false when it has just stopped waiting. */
  take(got: ImapConnection | 'place'): boolean;
  refuse(error: ProviderError): void;
}

/** Kept altogether, whoever's they are; the one unused for longest goes first. */
const MOST_KEPT = 500;
const QUEUE_RETRY_SECONDS = 15;
const WATCH_RETRY_SECONDS = 300;

/**
 * Connections to the mailboxes of accounts: each for one user at a time, kept for a while between uses, few per account
 * and not too many per host. Everything that fails here fails with a `ProviderError`.
 */
export class ImapSessions {
  readonly limits: ImapLimits;
  readonly #kept: KeptSessions<ImapConnection>;
  readonly #slots: ImapSlots;
  readonly #open = new Map<ImapConnection, Want>();
  /** In the order they came. */
  readonly #waiters = new Set<Waiter>();
  #closed = false;

  constructor(
    private readonly policy: EgressPolicy,
    limits: Partial<ImapLimits> = {},
  ) {
    this.limits = { ...IMAP_LIMITS, ...limits };
    const { idleMs, perAccount } = this.limits;
    this.#kept = new KeptSessions({
      idleMs,
      keptPerKey: perAccount,
      surplusMs: idleMs,
      kept: MOST_KEPT,
    });
    this.#slots = new ImapSlots(this.limits);
  }

  /**
   * Gives `work` a connection that is logged in and its alone until it is done: locks of mailboxes are not needed. Which
   * mailbox is open is as the last user left it. A failed command leaves the connection as good as before; any other
   * failure, and a command that goes unanswered, ends it.
   *
   * Methods of the library that answer `false` for a refused command: see `answerOf`.
   * @throws {ProviderError} whatever it fails with; what `work` throws as one passes as it is
   */
  async use<T>(
    account: ProviderAccount,
    work: (client: ImapFlow) => Promise<T>,
    options: UseOptions = {},
  ): Promise<T> {
    const want = wantOf(account, account.accountId, false);
    const connection = await this.#acquire(want, options.signal ?? null);
    try {
      return await this.#run(connection, work, options);
    } finally {
      this.#release(want, connection);
    }
  }

  /**
   * As `use`, for an account whose settings may be wrong: over a new connection, which is closed afterwards. Its server may
   * answer little (`VERIFY_LIMITS`).
   * @throws {ProviderError} also `unsupported`, when the settings can never work; `setting` says which one it is about
   */
  async useOnce<T>(
    account: Omit<ProviderAccount, 'accountId'>,
    work: (client: ImapFlow) => Promise<T>,
    options: UseOptions = {},
  ): Promise<T> {
    const signal = options.signal ?? null;
    const want = wantOf(
      { ...account, accountId: '' },
      `${account.applicationId} ${account.email}`,
      false,
    );
    await this.#waitForPlace(want, signal);
    const connection = await this.#start(want, { ...this.#traits, answers: VERIFY_LIMITS }, signal);
    try {
      return await this.#run(connection, work, options);
    } finally {
      await connection.quit();
    }
  }

  /**
   * A connection for watching, the caller's until it ends.
   * @throws {ProviderError} `unsupported` when the limits leave none for watching; `rate-limited` when there are enough
   */
  async hold(account: ProviderAccount, traits: ConnectionTraits): Promise<ImapConnection> {
    if (this.limits.perAccount < 2)
      throw new ProviderError('unsupported', 'One connection per account leaves none for watching');
    const want = wantOf(account, account.accountId, true);
    // A watch lasts: waiting for the end of another one would be waiting in vain.
    if (this.#slots.isWatched(want.account) || this.#slots.isHostFull(want))
      throw new ProviderError('rate-limited', 'There are enough connections that watch', {
        retryAfterSeconds: WATCH_RETRY_SECONDS,
      });
    await this.#waitForPlace(want, null);
    return this.#start(want, traits, null).catch(asVerified);
  }

  /** Connections there are, those nobody uses at the moment included. */
  get size(): number {
    return this.#open.size;
  }

  /** Closes kept connections politely and cuts those in use. Afterwards nothing can be used any more. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const waiter of this.#waiters) waiter.refuse(shutDown());
    const idle = this.#kept.takeAll();
    for (const connection of this.#open.keys())
      if (!idle.includes(connection)) connection.destroy();
    await Promise.all(idle.map((connection) => connection.quit()));
  }

  get #traits(): ConnectionTraits {
    return { silenceMs: this.limits.silenceMs };
  }

  async #acquire(want: Want, signal: AbortSignal | null): Promise<ImapConnection> {
    for (;;) {
      const kept = this.#kept.take(want.id) ?? (await this.#waitForPlace(want, signal));
      if (kept === null) return this.#start(want, this.#traits, signal).catch(asVerified);
      const { probeAfterMs, probeMs } = this.limits;
      const isFresh = performance.now() - kept.usedAt < probeAfterMs;
      if (kept.usable && (isFresh || (await kept.probe(probeMs)))) return kept;
      kept.destroy();
    }
  }

  /** Waits for room for a new connection; or gets one that has just become free. */
  async #waitForPlace(want: Want, signal: AbortSignal | null): Promise<ImapConnection | null> {
    if (this.#closed) throw shutDown();
    // Those who came first are served first, but nobody waits behind those who wait for another host.
    if (this.#takePlace(want)) return null;
    let waiter: Waiter | undefined;
    try {
      const got = await waitFor<ImapConnection | 'place'>(signal, (wait) => {
        wait.within(this.limits.queueMs, 'all connections to the server are in use');
        const take: Waiter['take'] = (got) => {
          const isWaiting = !wait.over;
          if (isWaiting) wait.resolve(got);
          return isWaiting;
        };
        waiter = { want, take, refuse: wait.reject };
        this.#waiters.add(waiter);
      });
      return got === 'place' ? null : got;
    } catch (error) {
      if (error instanceof ProviderError) throw error;
      throw new ProviderError('rate-limited', 'All connections to the server are in use', {
        retryAfterSeconds: QUEUE_RETRY_SECONDS,
      });
    } finally {
      if (waiter) this.#waiters.delete(waiter);
    }
  }

  /** Takes the place of a connection, at the expense of one nobody uses. */
  #takePlace(want: Want): boolean {
    if (this.#slots.take(want)) return true;
    const idle = this.#slots.isAccountFull(want)
      ? this.#kept.find((connection) => this.#open.get(connection)?.account === want.account)
      : this.#kept.find(
          (connection) => this.#open.get(connection)?.host === want.host && !want.watches,
        );
    if (!idle) return false;
    this.#kept.drop(idle);
    this.#forget(idle);
    void idle.quit();
    return this.#slots.take(want);
  }

  /** @throws {ProviderError} and frees the place that was taken for it */
  async #start(
    want: Want,
    traits: ConnectionTraits,
    signal: AbortSignal | null,
  ): Promise<ImapConnection> {
    let connection: ImapConnection;
    try {
      connection = await ImapConnection.open(want.server, this.policy, this.limits, traits, signal);
    } catch (error) {
      this.#slots.free(want);
      this.#serveWaiters();
      throw error;
    }
    this.#open.set(connection, want);
    connection.onEnd = () => {
      this.#kept.drop(connection);
      this.#forget(connection);
      this.#serveWaiters();
    };
    // It may have ended, or all of this, while it was being opened.
    if (!connection.usable) connection.onEnd();
    if (this.#closed) connection.destroy();
    return connection;
  }

  async #run<T>(
    connection: ImapConnection,
    work: (client: ImapFlow) => Promise<T>,
    { signal, limitMs = this.limits.useMs }: UseOptions,
  ): Promise<T> {
    try {
      return await waitFor<T>(signal ?? null, (wait) => {
        wait.within(limitMs, 'the exchange with the server took too long');
        Promise.resolve(connection.client).then(work).then(wait.resolve, wait.reject);
      });
    } catch (error) {
      const failure = connection.errorOf(error);
      if (!isImapRefusal(error) && !(error instanceof ProviderError)) connection.destroy();
      throw failure;
    }
  }

  #release(want: Want, connection: ImapConnection): void {
    connection.usedAt = performance.now();
    if (this.#closed || !connection.usable) return connection.destroy();
    for (const waiter of this.#waiters) {
      if (waiter.want.id !== want.id || waiter.want.watches) continue;
      this.#waiters.delete(waiter);
      if (waiter.take(connection)) return;
    }
    this.#kept.put(want.id, connection);
    this.#serveWaiters();
  }

  /** Gives places that have become free to those who wait for them. */
  #serveWaiters(): void {
    for (const waiter of this.#waiters) {
      if (!this.#takePlace(waiter.want)) continue;
      this.#waiters.delete(waiter);
      if (!waiter.take('place')) this.#slots.free(waiter.want);
    }
  }

  #forget(connection: ImapConnection): void {
    const want = this.#open.get(connection);
    if (!want) return;
    this.#open.delete(connection);
    this.#slots.free(want);
  }
}

function wantOf(account: ProviderAccount, key: string, watches: boolean): Want {
  const server = serverOf(account);
  const { host, port, security, login } = server;
  // Another password or token is another connection: who has lost access does not keep it over an old one.
  const id = createHash('sha256')
    .update(JSON.stringify([key, host, port, security, login]))
    .digest('base64');
  return { id, account: key, host, watches, server };
}

function serverOf(account: ProviderAccount): ImapServer {
  try {
    return imapServerOf(account);
  } catch (error) {
    throw toImapError(error, { stage: 'connect', secrets: [] });
  }
}

/** Settings that were fit when they were stored may become so again. */
function asVerified(error: unknown): never {
  if (!(error instanceof ProviderError) || error.code !== 'unsupported') throw error;
  const { message, setting, cause } = error;
  throw new ProviderError('temporary', message, {
    ...(setting === null ? {} : { setting }),
    cause,
  });
}

function shutDown(): ProviderError {
  return new ProviderError('temporary', 'The server is shutting down');
}
