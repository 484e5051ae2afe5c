import type { Command } from 'commander';
import { Clock } from '../platform/base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../platform/config/app-config.ts';
import { Database } from '../platform/database/sql.ts';
import { listWatches } from '../sync/list-watches.ts';
import { type OutputOptions, showWatches } from './carillon-output.ts';
import { withOperator } from './operator-context.ts';

interface Io {
  environment: Readonly<Record<string, string | undefined>>;
  print(text: string): void;
}

/**
 * Adds `carillon watches`.
 * @param countOf parses a positive number
 */
export function addWatches(
  program: Command,
  countOf: (value: string) => number,
  { environment, print }: Io,
): void {
  program
    .command('watches')
    .description(
      'list what reports changes: watches of mailboxes, and subscriptions at providers; those that fail or end soon come first',
    )
    .option('--limit <n>', 'maximum number of entries', countOf, 50)
    .action(async ({ limit }: { limit: number }, command: Command) => {
      const { watches, pushUrl } = await withOperator(environment, async (context) => ({
        watches: await listWatches(context.get(Database), context.get(Clock).now(), limit),
        pushUrl: context.get<AppConfig>(APP_CONFIG).pushUrl,
      }));
      print(showWatches(watches, pushUrl, command.optsWithGlobals<OutputOptions>()));
    });
}
