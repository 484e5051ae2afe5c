import { type Command, Option } from 'commander';
import { Clock } from '../platform/base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../platform/config/app-config.ts';
import { Database } from '../platform/database/sql.ts';
import { formatJson } from './api-output.ts';
import type { OutputOptions } from './carillon-output.ts';
import {
  CANCEL_CHOICES,
  type InstanceReport,
  reportInstance,
  takeOver,
  type Takeover,
  type TakeoverReport,
} from './instance.ts';
import { withOperator } from './operator-context.ts';

/** The operator has not confirmed, so nothing was changed. */
export class NotConfirmedError extends Error {
  override name = 'NotConfirmedError';
}

interface Io {
  environment: Readonly<Record<string, string | undefined>>;
  print(text: string): void;
}

const placeText = (place: InstanceReport['recorded']): string =>
  place
    ? Object.entries(place)
        .map(([part, value]) => `${part} ${String(value)}`)
        .join(', ')
    : 'nowhere yet: the first worker claims it';

/** The facts that the operator needs before confirming. */
function showReport(report: InstanceReport): string {
  const { messages, reminders, deliveries, provider_writes: writes } = report;
  const line = (name: string, { open, overdue }: { open: number; overdue: number }) =>
    `  ${name}: ${open}, ${overdue} of them overdue`;
  return [
    `The database belongs to: ${placeText(report.recorded)}`,
    `This is:                 ${placeText(report.here)}`,
    report.agrees
      ? 'They agree: workers here use this database.'
      : `They differ: ${report.differences}.`,
    'Waiting in the database:',
    line('messages to send', messages),
    line('reminders to send', reminders),
    line(`webhook deliveries (to ${report.active_webhooks} webhooks)`, deliveries),
    line('changes to write to providers', writes),
    `Workers alive: ${report.workers}`,
  ].join('\n');
}

function showTakeover(done: TakeoverReport, report: InstanceReport): string {
  return [
    `Cancelled: ${done.messages_cancelled} messages, ${done.reminders_cancelled} reminders. Webhooks paused: ${done.webhooks_paused}.`,
    'The database now belongs to this installation. Its workers start within seconds.',
    showReport(report),
  ].join('\n');
}

const cancelOption = (flag: string, what: string) =>
  new Option(`${flag} [which]`, `first cancel ${what}: all, or only overdue ones`)
    .choices(CANCEL_CHOICES)
    .preset('all');

interface ConfirmFlags extends OutputOptions, Takeover {
  yes?: boolean;
}

/**
 * The command `carillon instance`, about which installation owns the database (docs/deployment.md).
 */
export function addInstance(program: Command, { environment, print }: Io): void {
  const instance = program
    .command('instance')
    .description(
      'Whether this installation may process what is queued in the database: a restored copy must not send',
    );
  const report = () =>
    withOperator(environment, (context) =>
      reportInstance(context.get(Database), context.get<AppConfig>(APP_CONFIG)),
    );
  instance
    .command('show')
    .description('show where the database belongs, where it is now, and what is waiting in it')
    .action(async (_: unknown, command: Command) => {
      const shown = await report();
      print(command.optsWithGlobals<OutputOptions>().json ? formatJson(shown) : showReport(shown));
    });
  instance
    .command('confirm')
    .description('take the database over for this installation, and send what is waiting in it')
    .option('--yes', 'take over; without it, only show what would be done')
    .addOption(cancelOption('--cancel-sends', 'messages that are waiting to be sent'))
    .addOption(cancelOption('--cancel-reminders', 'reminders'))
    .option('--pause-webhooks', 'first make the webhooks of all applications inactive')
    .action(async (_: unknown, command: Command) => {
      const { yes, json, ...wanted } = command.optsWithGlobals<ConfirmFlags>();
      if (!yes) {
        throw new NotConfirmedError(
          `${showReport(await report())}\nNothing was changed. To take the database over, repeat the command with --yes.`,
        );
      }
      const { done, after } = await withOperator(environment, async (context) => {
        const [database, config] = [context.get(Database), context.get<AppConfig>(APP_CONFIG)];
        const done = await takeOver(database, config, context.get(Clock), wanted);
        return { done, after: await reportInstance(database, config) };
      });
      print(json ? formatJson({ ...done, instance: after }) : showTakeover(done, after));
    });
}
