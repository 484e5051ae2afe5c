import { npmScript, runCommand } from './project.ts';

/** What `npm run check` looks at; each is an npm script of its own. */
const CHECKS = [
  { title: 'format', script: 'check:format' },
  { title: 'lint', script: 'check:lint' },
  { title: 'types', script: 'check:types' },
  { title: 'dependency rules', script: 'check:dependencies' },
  { title: 'migrations match entities', script: 'db:check' },
  { title: 'openapi.json is what is served', script: 'openapi:check' },
  { title: 'no advisories about dependencies', script: 'check:advisories' },
] as const;

/** How many passed and failed. */
export interface Summary {
  passed: number;
  failed: number;
}

/** How a check says that it could not look. */
const NOT_CHECKED = 'NOT CHECKED';
/** Checks at a time: most of them use one processor. */
const AT_A_TIME = 2;

/** Runs every check and shows what those say that fail or could not look. */
export async function runChecks(): Promise<Summary> {
  const summary = { passed: 0, failed: 0 };
  const waiting = [...CHECKS];
  const worker = async () => {
    for (let check = waiting.shift(); check; check = waiting.shift()) {
      const { title, script } = check;
      const { code, output } = await runCommand(npmScript(script), 'pipe');
      summary[code === 0 ? 'passed' : 'failed'] += 1;
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
