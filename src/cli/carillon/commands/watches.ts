import { example, limitOption } from '../arguments.ts';
import { type AddCommands, readable } from '../cli.ts';

const COLUMNS = [
  'state',
  'kind',
  'provider',
  'name',
  'resource',
  'expires_at',
  'notified_at',
  'failures',
  'error',
];

/** Adds `carillon watches`. */
export const add: AddCommands = (group, cli) => {
  group
    .addOption(limitOption())
    .addHelpText(...example('watches --limit=10'))
    .action(async ({ limit }: { limit: number }) => {
      const { listWatches } = await import('../../../sync/watches/list-watches.ts');
      const { watches, pushUrl } = await cli.withServices(async ({ database, clock, config }) => ({
        watches: await listWatches(database, clock.now(), limit),
        pushUrl: config.pushUrl,
      }));
      const where =
        pushUrl === null
          ? 'Providers cannot notify this server: set PUSH_URL or BASE_URL to a public https address.'
          : `Providers notify ${pushUrl}/push/….`;
      const rows = watches.map(readable);
      cli.print(
        { push_url: pushUrl, watches: rows },
        () => `${cli.table(rows, COLUMNS)}\n${where}`,
        { rows, columns: COLUMNS },
      );
    });
};
