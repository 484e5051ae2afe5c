import { npmScript, runCommand } from './project.ts';

/** Checks of `npm run check`. Each is an npm script of its own. */
const CHECKS = [
  { title: 'format', script: 'check:format' },
  { title: 'lint', script: 'check:lint' },
  { title: 'types', script: 'check:types' },
  { title: 'words of comments, test names and docs', script: 'check:words' },
  { title: 'dependency rules', script: 'check:dependencies' },
  { title: 'migrations match entities', script: 'db:check' },
  { title: 'the OpenAPI documents are what is served', script: 'openapi:check' },
  { title: 'the TypeScript client is that of openapi.json', script: 'client:check' },
  { title: 'licenses of dependencies', script: 'check:licenses' },
  { title: 'no advisories about dependencies', script: 'check:advisories' },
] as const;

/** Passed and failed checks or tests. */
export interface Summary {
  passed: number;
  failed: number;
  /** Names of what failed. May have fewer entries than `failed` if a run ended early. */
  failures: string[];
}

/** Printed by a check that could not run, for example without a network. */
const NOT_CHECKED = 'NOT CHECKED';
/** Number of checks that run at the same time. Most of them use one processor. */
const AT_A_TIME = 2;

/** Runs every check, and prints the output of those that fail or could not run. */
export async function runChecks(): Promise<Summary> {
  const summary: Summary = { passed: 0, failed: 0, failures: [] };
  const waiting = [...CHECKS];
  const worker = async () => {
    for (let check = waiting.shift(); check; check = waiting.shift()) {
      const { title, script } = check;
      const { code, output } = await runCommand(npmScript(script), 'pipe');
      summary[code === 0 ? 'passed' : 'failed'] += 1;
      if (code !== 0) summary.failures.push(`${title} (npm run ${script})`);
      const unknown = code === 0 && output.includes(NOT_CHECKED);
      process.stdout.write(
        `${unknown ? '?' : code === 0 ? '✓' : '✗'} ${title} (npm run ${script})\n`,
      );
      if (code !== 0 || unknown) process.stdout.write(`${output.trimEnd()}\n`);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
  return summary;
}
