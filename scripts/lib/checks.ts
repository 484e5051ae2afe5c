import { npmScript, runCommand } from './project.ts';

/** What `npm run check` looks at, in this order; each is an npm script of its own. */
const CHECKS = [
  { title: 'format', script: 'check:format' },
  { title: 'lint', script: 'check:lint' },
  { title: 'types', script: 'check:types' },
  { title: 'dependency rules', script: 'check:dependencies' },
  { title: 'migrations match entities', script: 'db:check' },
  { title: 'openapi.json is what is served', script: 'openapi:check' },
] as const;

/** How many passed and failed. */
export interface Summary {
  passed: number;
  failed: number;
}

/** Runs every check, one after the other, and shows what the failing ones say. */
export async function runChecks(): Promise<Summary> {
  const summary = { passed: 0, failed: 0 };
  for (const { title, script } of CHECKS) {
    const { code, output } = await runCommand(npmScript(script), 'pipe');
    summary[code === 0 ? 'passed' : 'failed'] += 1;
    process.stdout.write(`${code === 0 ? '✓' : '✗'} ${title} (npm run ${script})\n`);
    if (code !== 0) process.stdout.write(`${output.trimEnd()}\n`);
  }
  return summary;
}
