import type { BenchProcess } from '../child.ts';
import type { BenchMail } from '../processes/connectors.ts';
import type { BenchDatabase, World } from '../world.ts';

/** A process of the product with a bench connector, and the port it listens on. */
export interface BenchWorker {
  child: BenchProcess;
  port: number;
}

/** Starts a worker. Variables that `environment` does not name have the product's defaults. */
export async function startWorker(
  world: World,
  database: Pick<BenchDatabase, 'url'>,
  mail: BenchMail,
  environment: Readonly<Record<string, string>> = {},
): Promise<BenchWorker> {
  const child = world.spawn(
    'bench/processes/worker.ts',
    world.environment(database, {
      ROLES: 'worker',
      BENCH_MAIL: JSON.stringify(mail),
      ...environment,
    }),
  );
  return { child, port: await child.ready<number>() };
}
