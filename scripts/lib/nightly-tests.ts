import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from './project.ts';

/**
 * Tests that run every night and before a release, not for every push (ADR 0142). They start whole
 * programs or a browser again and again, or repeat in another way what a shorter test proves. Paths
 * are relative to the project's folder.
 */
export const NIGHTLY: readonly string[] = [
  // A browser. Over HTTP, `test/e2e/console-*` and `test/e2e/openapi` see the same pages.
  'test/providers/console.providers-spec.ts',
  'test/providers/docs.providers-spec.ts',
  // Servers started anew for each case. The contract suites run against the same servers.
  'test/providers/held-writes.providers-spec.ts',
  'test/providers/odd-servers.providers-spec.ts',
  'test/medium/embedded-postgres.medium-spec.ts',
  // The chains of `test/e2e/held-writes` once more. `test/medium/google-*` have what is Google's
  // own.
  'test/e2e/held-writes-google.e2e-spec.ts',
  // Whole programs started and broken for each case.
  'test/e2e/alerts.e2e-spec.ts',
  'test/e2e/api-command.e2e-spec.ts',
  'test/e2e/examples.e2e-spec.ts',
  'test/e2e/incidents/clocks.e2e-spec.ts',
  'test/e2e/incidents/lost-workers.e2e-spec.ts',
  'test/e2e/incidents/refused-writes.e2e-spec.ts',
  'test/e2e/incidents/restored-database.e2e-spec.ts',
  'test/e2e/incidents/wrong-keys.e2e-spec.ts',
  'test/e2e/live.e2e-spec.ts',
  // `npm start` and `npm run demo` as a newcomer runs them. Unit tests of `src/platform/config`
  // have the messages about wrong settings.
  'test/e2e/local-mode.e2e-spec.ts',
  'test/e2e/logs.e2e-spec.ts',
  // Many large inputs. `test/hostile/mail-bombs` and the unit tests have small ones.
  'test/hostile/ocr.hostile-spec.ts',
  'test/hostile/operations.hostile-spec.ts',
  'test/hostile/request-bodies.hostile-spec.ts',
  // Recorded clients in other languages. They send what `test/sdk/nylas` and Python's client send.
  'test/sdk/client-chains.sdk-spec.ts',
  'test/sdk/go.sdk-spec.ts',
  'test/sdk/java.sdk-spec.ts',
  'test/sdk/php.sdk-spec.ts',
  'test/sdk/ruby.sdk-spec.ts',
];

/**
 * The storms of every push: one that kills workers, and one that cuts the connection at a commit.
 * All storms run every night.
 */
export const STORMS_OF_A_PUSH: readonly string[] = [
  'test/faults/send.faults-spec.ts',
  'test/faults/lost-commit.faults-spec.ts',
];

/**
 * Jest would pass over a named file that was renamed.
 * @throws Error if a file of `NIGHTLY` or `STORMS_OF_A_PUSH` does not exist
 */
export function requireNamedTests(): void {
  const missing = [...NIGHTLY, ...STORMS_OF_A_PUSH].filter(
    (file) => !fs.existsSync(path.join(ROOT, file)),
  );
  if (missing.length > 0) throw new Error(`No such test: ${missing.join(', ')}`);
}
