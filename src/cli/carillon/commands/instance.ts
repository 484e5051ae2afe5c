import { Option } from 'commander';
import type { AppConfig } from '../../../platform/config/app-config.ts';
import { example } from '../arguments.ts';
import { NotConfirmedError } from '../not-confirmed-error.ts';
import type { AddCommands } from '../cli.ts';
import type {
  InstanceReport,
  OperatorInstance,
  Takeover,
  TakeoverReport,
} from '../../../operator/instance/operator-instance.ts';

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
    .choices(['all', 'overdue'])
    .preset('all');

interface ConfirmFlags extends Takeover {
  yes?: boolean;
}

/**
 * Adds `carillon instance`, about which installation owns the database (docs/backup.md).
 */
export const add: AddCommands = (group, cli) => {
  const withInstance = async <T>(
    work: (instance: OperatorInstance, config: AppConfig) => Promise<T>,
  ): Promise<T> => {
    const service = await import('../../../operator/instance/operator-instance.ts');
    return cli.withServices(({ database, clock, config }) =>
      work(new service.OperatorInstance(database, clock), config),
    );
  };
  const report = () => withInstance((instance, config) => instance.report(config));
  group
    .command('show')
    .description('show where the database belongs, where it is now, and what is waiting in it')
    .addHelpText(...example('instance show'))
    .action(async () => {
      const shown = await report();
      cli.print(shown, () => showReport(shown));
    });
  group
    .command('confirm')
    .description('take the database over for this installation, and send what is waiting in it')
    .option('--yes', 'take over; without it, only show what would be done')
    .addOption(cancelOption('--cancel-sends', 'messages that are waiting to be sent'))
    .addOption(cancelOption('--cancel-reminders', 'reminders'))
    .option('--pause-webhooks', 'first make the webhooks of all applications inactive')
    .addHelpText(...example('instance confirm --cancel-sends=overdue --yes'))
    .action(async ({ yes, ...wanted }: ConfirmFlags) => {
      if (!yes) {
        throw new NotConfirmedError(
          `${showReport(await report())}\nNothing was changed. To take the database over, repeat the command with --yes.`,
        );
      }
      const { done, after } = await withInstance(async (instance, config) => ({
        done: await instance.takeOver(cli.actor, config, wanted),
        after: await instance.report(config),
      }));
      cli.print({ ...done, instance: after }, () => showTakeover(done, after));
    });
};
