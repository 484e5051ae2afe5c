import { BuildError, ensureBuilt } from './lib/build.ts';

try {
  await ensureBuilt({ force: true });
} catch (error) {
  if (!(error instanceof BuildError)) throw error;
  process.exitCode = 1;
}
