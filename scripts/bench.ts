import { BENCHES } from '../bench/all.ts';
import { runBench } from '../bench/run.ts';
import { BuildError } from './lib/build.ts';

try {
  // Exit at once: measurements that were interrupted may still be waiting.
  process.exit(await runBench(BENCHES, process.argv.slice(2)));
} catch (error) {
  if (!(error instanceof BuildError)) throw error;
  process.exitCode = 1;
}
