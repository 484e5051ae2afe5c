import { BuildError, ensureBuilt } from './lib/build.ts';
import { ApiClient } from './lib/api-client.ts';
import type { DemoContext } from './demo/context.ts';
import { Receiver } from './demo/receiver.ts';
import { Report } from './lib/report.ts';
import { TemporaryServer } from './lib/temporary-server.ts';
import { createCalendar, remind } from './demo/steps-calendar.ts';
import { connectEverybody } from './demo/steps-connect.ts';
import { readMessages } from './demo/steps-messages.ts';
import { listJobs, schedule, sendInVain, sendNow } from './demo/steps-outbox.ts';
import { subscribe, verifyNotifications } from './demo/steps-webhooks.ts';

/** Runs the main job from beginning to end. Throws at the first result that is wrong. */
async function perform(context: DemoContext): Promise<void> {
  const cast = await connectEverybody(context);
  await readMessages(cast);
  await subscribe(cast);
  const now = await sendNow(cast);
  const { delivered, cancelled } = await schedule(cast);
  const failure = await sendInVain(cast);
  await listJobs(cast, [now, ...delivered, cancelled, failure]);
  await verifyNotifications(cast, [now, ...delivered], failure);
  await remind(cast, await createCalendar(cast));
}

/**
 * `npm run demo` runs Carillon's main job on real parts. It ends by itself, with code 0 only if
 * every check passed.
 */
async function main(): Promise<number> {
  const began = performance.now();
  const report = new Report();
  const server = new TemporaryServer((reason) =>
    report.note(`! Carillon died (${reason}); starting it again on the same database`),
  );
  const receiver = new Receiver();
  let interrupted = false;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (interrupted) return;
      interrupted = true;
      void server.stop().finally(() => {
        server.removeData();
        process.exit(130);
      });
    });
  }
  try {
    await receiver.start();
    await perform({ report, server, receiver, api: new ApiClient(server, report) });
    report.step('Carillon stops');
    const code = await server.stop();
    report.verify('with exit code 0', code === 0, code);
    const seconds = Math.round((performance.now() - began) / 1000);
    process.stdout.write(
      `\nAll ${report.verified} checks of ${report.steps} steps are true, in ${seconds} s.\n\n` +
        'Next:          npm start   (keeps its data, prints tokens to try the API with)\n' +
        'API docs:      http://localhost:3000/docs once it runs; docs/quickstart.md\n',
    );
    return 0;
  } catch (error) {
    if (interrupted) return new Promise(() => undefined);
    process.stdout.write(
      `\nFailed at step ${report.steps}: ${error instanceof Error ? error.message : String(error)}\n`,
    );
    if (server.lastOutput)
      process.stdout.write(`\nLast output of the server:\n${server.lastOutput}\n`);
    await server.stop();
    return 1;
  } finally {
    receiver.stop();
    server.removeData();
  }
}

try {
  await ensureBuilt();
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof BuildError)) throw error;
  process.exitCode = 1;
}
