import type {
  MovesReport,
  OperatorMoves,
  ProcessOfMoves,
} from '../../../operator/moves/operator-moves.ts';
import { localTime } from '../../terminal/cells.ts';
import { example } from '../arguments.ts';
import { NotConfirmedError } from '../not-confirmed-error.ts';
import { type AddCommands, type OperatorCli, readable, readableWhole } from '../cli.ts';

const COLUMNS = ['name', 'old_table', 'began_at', 'finished_at', 'moved', 'rows_left'];

const processText = ({ host, pid, roles, startedAt, older }: ProcessOfMoves): string =>
  `  ${host}, process ${pid} (${roles.join(', ')}), started ${localTime(startedAt)}${older ? ': of an older release' : ''}`;

/** What the operator checks before confirming. */
function checkText({ moves, processes }: MovesReport): string {
  const waiting = moves.filter(({ beganAt }) => beganAt === null);
  return [
    `Not started: ${waiting.map(({ name }) => name).join(', ') || 'none'}`,
    'Start them when no process of an older release runs, and you will not go back to one:',
    'older releases do not see rows in the new tables. Processes of the last 30 seconds:',
    ...(processes.length > 0 ? processes.map(processText) : ['  none']),
  ].join('\n');
}

const table = (cli: OperatorCli, { moves }: MovesReport): string =>
  cli.table(moves.map(readable), COLUMNS);

/** Adds `carillon moves`. */
export const add: AddCommands = (group, cli) => {
  const withMoves = async <T>(work: (moves: OperatorMoves) => Promise<T>): Promise<T> => {
    const service = await import('../../../operator/moves/operator-moves.ts');
    return cli.withServices(({ database }) => work(new service.OperatorMoves(database)));
  };
  group
    .command('list', { isDefault: true })
    .description('show the moves: which have started or finished, rows moved and left')
    .addHelpText(...example('moves list'))
    .action(async () => {
      const report = await withMoves((moves) => moves.report());
      cli.print(readableWhole(report), () => table(cli, report), {
        rows: report.moves.map(readable),
        columns: COLUMNS,
      });
    });
  group
    .command('start')
    .description('start all moves, once no process of an older release runs')
    .option('--yes', 'start; without it, only show what to check')
    .addHelpText(...example('moves start --yes'))
    .action(async ({ yes }: { yes?: boolean }) => {
      if (!yes) {
        throw new NotConfirmedError(
          `${checkText(await withMoves((moves) => moves.report()))}\nNothing was changed. To start the moves, repeat the command with --yes.`,
        );
      }
      const { started, report } = await withMoves(async (moves) => ({
        started: await moves.start(cli.actor),
        report: await moves.report(),
      }));
      const shown = { started, ...report };
      cli.print(readableWhole(shown), () =>
        [`Started: ${started.join(', ') || 'none'}`, table(cli, report)].join('\n'),
      );
    });
};
