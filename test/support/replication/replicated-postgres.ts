import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { migrate } from '../../../src/app/migrate.ts';
import { startEmbeddedPostgres } from '../../../src/platform/database/embedded/embedded-postgres.ts';
import { TcpProxy } from '../tcp-proxy.ts';
import { until } from '../until.ts';
import { PostgresNode } from './postgres-node.ts';

/** Fast and small: what is lost here is lost by the network, not by the disk. */
const SETTINGS = { fsync: 'off', shared_buffers: '32MB', wal_keep_size: '256MB' } as const;
const STANDBY_NAME = 'standby';

/**
 * A primary and a standby with real streaming replication, and addresses that tests can break. All
 * servers and folders are gone after `close`; the servers also end with the process of the test.
 */
export class ReplicatedPostgres {
  readonly #further: PostgresNode[] = [];

  private constructor(
    private readonly folder: string,
    readonly primary: PostgresNode,
    readonly standby: PostgresNode,
    /**
     * The network from the primary to the standby. While it is blocked, the standby falls behind;
     * what was blocked never arrives if the standby is promoted (`failOver`).
     */
    readonly replication: TcpProxy,
    /**
     * The address that clients use, like a virtual IP address. `aim` moves it without cutting old
     * connections, `reset` cuts them.
     */
    readonly address: TcpProxy,
  ) {}

  /**
   * Starts both servers, with the current schema. Takes a few seconds.
   * @param synchronous whether a commit waits for the standby; default: false
   */
  static async start({ synchronous = false } = {}): Promise<ReplicatedPostgres> {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-pair-'));
    // The operating-system user of the servers must be able to enter the folder.
    fs.chmodSync(folder, 0o755);
    const [first, second] = [path.join(folder, 'first'), path.join(folder, 'second')];
    const empty = await startEmbeddedPostgres({ dataDir: first, settings: SETTINGS });
    await migrate(empty.url);
    await empty.stop();
    // The copy of a server that was stopped in order is a complete base backup.
    execFileSync('cp', ['-a', first, second]);
    fs.writeFileSync(path.join(second, 'standby.signal'), '');
    const primary = await PostgresNode.start(first, SETTINGS);
    const replication = await TcpProxy.start(primary.socketPath);
    const source = `host=127.0.0.1 port=${replication.port} user=postgres application_name=${STANDBY_NAME}`;
    const standby = await PostgresNode.start(second, { ...SETTINGS, primary_conninfo: source });
    const address = await TcpProxy.start(primary.socketPath);
    const pair = new ReplicatedPostgres(folder, primary, standby, replication, address);
    await pair.caughtUp();
    if (synchronous) await pair.setSynchronous(true);
    return pair;
  }

  /** URL of the database over `address`. */
  get url(): string {
    return `postgresql://postgres@127.0.0.1:${this.address.port}/carillon`;
  }

  /** Whether commits on the primary wait until the standby has stored them. */
  async setSynchronous(on: boolean): Promise<void> {
    await this.primary.set('synchronous_standby_names', on ? STANDBY_NAME : null);
    const state = on ? 'sync' : 'async';
    await until(`the standby to be ${state}`, async () =>
      (await this.#standbys()).some((each) => each.state === state),
    );
  }

  /**
   * Waits until the standby has replayed everything that the primary has written up to now. Asks
   * the standby: what the primary knows of it can be ten seconds old.
   */
  async caughtUp(primary = this.primary, standby = this.standby): Promise<void> {
    const [written] = await primary.query<{ lsn: string }>(
      'select pg_current_wal_lsn()::text as lsn',
    );
    await until('the standby to catch up', async () => {
      const replayed = 'select pg_last_wal_replay_lsn() >= $1::pg_lsn as replayed';
      const [row] = await standby.query<{ replayed: boolean }>(replayed, [written?.lsn]);
      return row?.replayed === true;
    });
  }

  /** Cuts the standby off, and waits until the primary has noticed it. */
  async standbyLeaves(): Promise<void> {
    this.replication.block();
    this.replication.reset();
    await until('the standby to leave', async () => (await this.#standbys()).length === 0);
  }

  /** Starts one more server, as a standby of a server that runs. */
  async addStandby(source: PostgresNode): Promise<PostgresNode> {
    const folder = path.join(this.folder, `further-${this.#further.length}`);
    await source.backUp(folder);
    const node = await PostgresNode.start(folder, {
      ...SETTINGS,
      primary_conninfo: `host=127.0.0.1 port=${source.network.port} user=postgres`,
    });
    this.#further.push(node);
    return node;
  }

  /**
   * Promotes the standby. What the replication network still held is lost. `address` stays where
   * it is: call `moveAddress`.
   */
  async failOver(): Promise<void> {
    // First nothing more may arrive, then what is blocked must not be delivered late.
    this.replication.block();
    this.replication.reset();
    await this.standby.promote();
  }

  /**
   * Points `address` at the former standby.
   * @param cut whether the old connections are reset, as most poolers and proxies can do
   */
  moveAddress({ cut }: { cut: boolean }): void {
    this.address.aim(this.standby.socketPath);
    if (cut) this.address.reset();
  }

  async close(): Promise<void> {
    await Promise.all([this.address.stop(), this.replication.stop()]);
    await Promise.all([this.primary, this.standby, ...this.#further].map((node) => node.close()));
    fs.rmSync(this.folder, { recursive: true, force: true });
  }

  /** The primary's view of its standbys. */
  #standbys(): Promise<{ state: string }[]> {
    return this.primary.query('select sync_state as state from pg_stat_replication');
  }
}
