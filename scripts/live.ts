import { ApiClient } from './lib/api-client.ts';
import { BuildError, ensureBuilt } from './lib/build.ts';
import { Report } from './lib/report.ts';
import { TemporaryServer } from './lib/temporary-server.ts';
import { observeCompany } from './live/behaviours/steps-behaviours.ts';
import { UsageError } from './live/prompt.ts';
import { type LiveSettings, readSettings } from './live/settings.ts';
import { checkMail } from './live/steps-mail.ts';
import { checkOthers } from './live/steps-other.ts';
import { connect } from './live/steps-sign-in.ts';
import { InterruptedError, Walk } from './live/walk.ts';

const USAGE_CODE = 2;
const INTERRUPTED_CODE = 130;

async function perform(walk: Walk): Promise<void> {
  try {
    if (!(await connect(walk))) return;
    await checkMail(walk);
    await checkOthers(walk);
    await observeCompany(walk);
  } catch (error) {
    if (!(error instanceof InterruptedError)) throw error;
    walk.report.note('interrupted');
  } finally {
    walk.report.step('Everything is removed');
    await walk.cleanUp();
  }
}

/** @returns the exit code: 0 if every check that was made has passed, else 1 or 130 */
function conclude({ report, failed, skipped, isInterrupted }: Walk): number {
  const left = skipped.length > 0 ? `\nNot checked: ${skipped.join('; ')}.` : '';
  const result =
    failed.length > 0
      ? `Failed: ${failed.join('; ')}. ${report.verified} other checks are true.`
      : `All ${report.verified} checks are true.`;
  process.stdout.write(`\n${result}${left}\n`);
  if (isInterrupted) return INTERRUPTED_CODE;
  return failed.length > 0 ? 1 : 0;
}

/** Runs everything on a server of its own, which is gone afterwards. */
async function run(settings: LiveSettings, onWalk: (walk: Walk) => void): Promise<number> {
  const report = new Report();
  for (const value of [settings.refreshToken, settings.integration['client_secret']])
    if (typeof value === 'string') report.hide(value);
  const server = new TemporaryServer(
    (reason) => report.note(`! Carillon died (${reason}); starting it again`),
    {
      port: settings.port,
      // Without notifications, messages are seen after this time at the latest.
      environment: { LOG_LEVEL: 'info', SYNC_POLL_SECONDS: '5', ...settings.server },
      outlivesInterrupt: true,
    },
  );
  const walk = new Walk(settings, { server, report, api: new ApiClient(server, report) });
  onWalk(walk);
  try {
    await perform(walk);
    return conclude(walk);
  } finally {
    await server.stop();
    server.removeData();
  }
}

/**
 * `npm run live` tries Carillon with a real account, and removes everything it made, after Ctrl-C,
 * too.
 */
async function main(): Promise<number> {
  let walk: Walk | undefined;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // The terminal and npm may both deliver one Ctrl-C, so a second signal changes nothing.
    process.on(signal, () => {
      if (!walk) process.exit(INTERRUPTED_CODE);
      if (!walk.isInterrupted) process.stdout.write('\nStopping: removing what was made…\n');
      walk.interrupt();
    });
  }
  const settings = await readSettings(process.argv.slice(2), process.env);
  await ensureBuilt();
  return run(settings, (made) => (walk = made));
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof BuildError || error instanceof UsageError)) throw error;
  if (error instanceof UsageError) process.stderr.write(`${error.message}\n`);
  process.exitCode = error instanceof UsageError ? USAGE_CODE : 1;
}
