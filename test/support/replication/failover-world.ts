import { countOutcome, type Count } from '../fault-figures.ts';
import { addFaultFigures } from '../fault-table.ts';
import { FaultWorld } from '../fault-world.ts';
import { parseMetrics, total } from '../metrics-page.ts';
import type { ServerProcess } from '../server-process.ts';
import { until } from '../until.ts';
import type { PostgresNode } from './postgres-node.ts';
import { ReplicatedPostgres } from './replicated-postgres.ts';

/** The role with which each server connects. By it the address tells their connections apart. */
const ROLES = ['one', 'two'] as const;
type Role = (typeof ROLES)[number];

/** Two servers over a replicated pair, which both reach over one address. */
export class FailoverWorld {
  private constructor(
    readonly pair: ReplicatedPostgres,
    readonly world: FaultWorld,
    readonly servers: Record<Role, ServerProcess>,
  ) {}

  static async start(options: { synchronous?: boolean } = {}): Promise<FailoverWorld> {
    const pair = await ReplicatedPostgres.start(options);
    const world = await FaultWorld.start({ accounts: 10, databaseUrl: pair.url });
    await world.sink.behave({ delayMs: [10, 100] });
    const servers: Partial<Record<Role, ServerProcess>> = {};
    for (const role of ROLES) {
      await pair.primary.query(`create role ${role} superuser login`);
      servers[role] = await startAs(role, pair, world);
    }
    return new FailoverWorld(pair, world, servers as Record<Role, ServerProcess>);
  }

  /** Stops a server in order, and starts it again as a new process. */
  async restart(role: Role): Promise<void> {
    await this.servers[role].stop();
    this.servers[role] = await startAs(role, this.pair, this.world);
  }

  /** Selects the conversations of one server with the database, for `TcpProxy.reset`. */
  static of(role: Role): (first: Buffer) => boolean {
    return (first) => first.includes(`user\0${role}\0`);
  }

  /** Deaths of workers that the servers have counted. */
  async deaths(): Promise<number> {
    const pages = ROLES.map(async (role) => {
      const page = await fetch(`${this.servers[role].url}/metrics`);
      return total(parseMetrics(await page.text()), 'carillon_worker_deaths_total');
    });
    return (await Promise.all(pages)).reduce((sum, n) => sum + n, 0);
  }

  /** Any server, in rotation. */
  server(n: number): ServerProcess {
    return this.servers[n % 2 === 0 ? 'one' : 'two'];
  }

  /**
   * Connections of both servers to a node that have been open for two seconds. To see where the
   * address leads, a server opens one for a moment.
   */
  async connections(node: PostgresNode): Promise<number> {
    const [row] = await node.query<{ n: number }>(
      `select count(*)::int as n from pg_stat_activity where usename = any($1) and backend_start < clock_timestamp() - interval '2 s'`,
      [ROLES],
    );
    return row?.n ?? 0;
  }

  /** Waits until both servers are ready. */
  async ready(): Promise<void> {
    const isReady = ({ url }: ServerProcess) =>
      fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(10_000) }).then(
        ({ status }) => status === 200,
        () => false,
      );
    for (const role of ROLES)
      await until(`the server ${role} to be ready`, () => isReady(this.servers[role]));
  }

  /**
   * Expects of the messages that the promoted server knows that each arrived, and none of them
   * twice, and adds a row to the table of the run. What only the old server accepted is not
   * counted.
   */
  async expectNoneDoubled(test: string, faults: string): Promise<Count> {
    const count = await countOutcome(this.world);
    addFaultFigures({ test, faults, ...count.figures });
    const { lost, doubled, doubledUnexplained } = count;
    expect({ lost, doubled, doubledUnexplained, open: await this.world.open() }).toEqual({
      lost: [],
      doubled: [],
      doubledUnexplained: [],
      open: 0,
    });
    return count;
  }

  async close(): Promise<void> {
    await this.world.close();
    await this.pair.close();
  }
}

function startAs(role: Role, pair: ReplicatedPostgres, world: FaultWorld): Promise<ServerProcess> {
  const url = new URL(pair.url);
  url.username = role;
  return world.startServer({
    DATABASE_URL: url.href,
    SMS_GATEWAY: 'http',
    SMS_HTTP_URL: `${world.receiver.origin}/texts`,
  });
}
