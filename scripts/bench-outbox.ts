import { runBench } from '../bench/run.ts';
import { BuildError } from './lib/build.ts';

try {
  process.exitCode = await runBench(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof BuildError)) throw error;
  process.exitCode = 1;
}
