import { example } from '../arguments.ts';
import type { AddCommands, OperatorCli } from '../cli.ts';

/** The database of DATABASE_URL, for which no other setting is needed, else the embedded one. */
async function runMigrations(cli: OperatorCli): Promise<string[]> {
  const { withDatabaseAccess } = await import('../../../app/startup.ts');
  const { migrate } = await import('../../../app/migrate.ts');
  const run = (url: string) =>
    cli.withProgress('Reading the schema', (update) =>
      migrate(url, (name, place, count) => update(`Running ${name}, ${place} of ${count}`)),
    );
  const url = cli.environment['DATABASE_URL'];
  if (url) return withDatabaseAccess(() => run(url));
  const { withConfig } = await import('../services.ts');
  return withConfig(cli.environment, ({ database }) => run(database.url));
}

/** Adds `carillon migrate`. */
export const add: AddCommands = (group, cli) => {
  group.addHelpText(...example('migrate')).action(async () => {
    const migrated = await runMigrations(cli);
    cli.print(
      { migrated },
      migrated.length === 0 ? 'The schema is up to date.' : `Migrated: ${migrated.join(', ')}`,
    );
  });
};
