import { createHash } from 'node:crypto';
import type { ImapFlow } from 'imapflow';
import type { EgressPolicy } from '../../../platform/egress/egress-policy.ts';
import type { ProviderAccount } from '../../port/connector.ts';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import { KeptSessions } from '../../smtp/kept-sessions.ts';
import { waitFor } from '../../smtp/wait.ts';
import { type ImapServer, imapServerOf } from '../imap.settings.ts';
import { type ConnectionTraits, ImapConnection } from './imap-connection.ts';
import { isImapRefusal, toImapError } from '../imap-error.ts';
import { VERIFY_LIMITS } from './imap-input.ts';
import { IMAP_LIMITS, type ImapLimits } from './imap-limits.ts';
import { ImapSlots, type ConnectionSlot } from './imap-slots.ts';

export interface UseOptions {
  /** If aborted, the use ends at once with `temporary` and its connection is cut. */
  signal?: AbortSignal;
  /**
   * For the whole use, in milliseconds, without the time spent waiting for a connection. Default
   * `ImapLimits.useMs`.
   */
  limitMs?: number;
}

/** A request for a connection. */
interface Want extends ConnectionSlot {
  /** Connections with the same identity may be reused, one user at a time. */
  id: string;
  server: ImapServer;
}

interface Waiter {
  want: Want;
  /**
   * Hands over a connection, or a slot for a new one. Returns false if the waiter has just stopped
   * waiting.
   */
  take(got: ImapConnection | 'slot'): boolean;
  refuse(error: ProviderError): void;
}

/**
 * Highest number of kept connections of all accounts. The one unused for longest is closed first.
 */
const MOST_KEPT = 500;
const QUEUE_RETRY_SECONDS = 15;
const WATCH_RETRY_SECONDS = 300;

/**
 * Connections to the mailboxes of accounts. Each is used by one caller at a time and kept for a
 * while between uses. Their number is limited per account and per host. Every failure is a
 * `ProviderError`.
 */
export class ImapSessions {
  readonly limits: ImapLimits;
  readonly #kept: KeptSessions<ImapConnection>;
  readonly #slots: ImapSlots;
  readonly #open = new Map<ImapConnection, Want>();
  /** In order of arrival. */
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
      furtherIdleMs: idleMs,
      kept: MOST_KEPT,
    });
    this.#slots = new ImapSlots(this.limits);
  }

  /**
   * Runs `work` with a logged-in connection that it does not share, so mailbox locks are not
   * needed. The mailbox left open by the previous user may still be open. A refused command leaves
   * the connection usable; any other failure, or a missing reply, closes it.
   *
   * Methods of the library that return `false` for a refused command: see `answerOf`.
   * @throws {ProviderError} for every failure; a `ProviderError` thrown by `work` is rethrown
   *   unchanged
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
   * Like `use`, for an account whose settings may be wrong: over a new connection that is closed
   * afterwards, with small limits for the server's responses (`VERIFY_LIMITS`).
   * @throws {ProviderError} also `unsupported` if the settings can never work; `setting` names
   *   the setting concerned
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
    await this.#waitForSlot(want, signal);
    const connection = await this.#start(want, { ...this.#traits, answers: VERIFY_LIMITS }, signal);
    try {
      return await this.#run(connection, work, options);
    } finally {
      await connection.quit();
    }
  }

  /**
   * Opens a connection for watching. The caller keeps it until it ends.
   * @throws {ProviderError} `unsupported` if the limits leave no connection for watching;
   *   `rate-limited` if too many connections are watching
   */
  async openForWatching(
    account: ProviderAccount,
    traits: ConnectionTraits,
  ): Promise<ImapConnection> {
    if (this.limits.perAccount < 2)
      throw new ProviderError(
        'unsupported',
        'A limit of one connection per account leaves none for watching',
      );
    const want = wantOf(account, account.accountId, true);
    // Watches stay open, so it is useless to wait for another one to end.
    if (this.#slots.isWatched(want.account) || this.#slots.isHostFull(want))
      throw new ProviderError('rate-limited', 'Too many connections are already watching', {
        retryAfterSeconds: WATCH_RETRY_SECONDS,
      });
    await this.#waitForSlot(want, null);
    return this.#start(want, traits, null).catch(asVerified);
  }

  /** Number of open connections, including unused ones. */
  get size(): number {
    return this.#open.size;
  }

  /** Closes kept connections politely and cuts those in use. Afterwards every use fails. */
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
      const kept = this.#kept.take(want.id) ?? (await this.#waitForSlot(want, signal));
      if (kept === null) return this.#start(want, this.#traits, signal).catch(asVerified);
      const { probeAfterMs, probeMs } = this.limits;
      const isFresh = performance.now() - kept.usedAt < probeAfterMs;
      if (kept.usable && (isFresh || (await kept.probe(probeMs)))) return kept;
      kept.destroy();
    }
  }

  /**
   * Waits for a slot for a new connection.
   * @returns a connection that was released meanwhile, or `null` if the caller got a slot
   */
  async #waitForSlot(want: Want, signal: AbortSignal | null): Promise<ImapConnection | null> {
    if (this.#closed) throw shutDown();
    // Waiters are served in order of arrival, but do not block waiters for other hosts.
    if (this.#takeSlot(want)) return null;
    let waiter: Waiter | undefined;
    try {
      const got = await waitFor<ImapConnection | 'slot'>(signal, (wait) => {
        wait.within(this.limits.queueMs, 'all connections to the server are in use');
        const take: Waiter['take'] = (got) => {
          const isWaiting = !wait.over;
          if (isWaiting) wait.resolve(got);
          return isWaiting;
        };
        waiter = { want, take, refuse: wait.reject };
        this.#waiters.add(waiter);
      });
      return got === 'slot' ? null : got;
    } catch (error) {
      if (error instanceof ProviderError) throw error;
      throw new ProviderError('rate-limited', 'All connections to the server are in use', {
        retryAfterSeconds: QUEUE_RETRY_SECONDS,
      });
    } finally {
      if (waiter) this.#waiters.delete(waiter);
    }
  }

  /** Takes a slot for a connection. If none is free, closes an unused connection. */
  #takeSlot(want: Want): boolean {
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

  /** @throws {ProviderError} after releasing the slot */
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
    // The connection, or all sessions, may have been closed while it was being opened.
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

  /** Gives free slots to waiters. */
  #serveWaiters(): void {
    for (const waiter of this.#waiters) {
      if (!this.#takeSlot(waiter.want)) continue;
      this.#waiters.delete(waiter);
      if (!waiter.take('slot')) this.#slots.free(waiter.want);
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
  // The login is part of the identity, so that a client with a changed or revoked password or token
  // cannot use an old connection.
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

/**
 * Turns `unsupported` into `temporary`: the settings worked when they were stored and may work
 * again.
 */
function asVerified(error: unknown): never {
  if (!(error instanceof ProviderError) || error.code !== 'unsupported') throw error;
  const { message, setting, server, cause } = error;
  throw new ProviderError('temporary', message, {
    server,
    ...(setting === null ? {} : { setting }),
    cause,
  });
}

function shutDown(): ProviderError {
  return new ProviderError('temporary', 'The server is shutting down');
}
