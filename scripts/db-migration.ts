import { withScratchOrm } from './lib/scratch-database.ts';

/**
 * `npm run db:migration <name>` writes a migration that changes the schema of the migrations into
 * that of the entities.
 */
const name = process.argv[2];
if (!name || !/^[a-z0-9_-]+$/.test(name)) {
  process.stderr.write(
    'Name the migration by what it does: npm run db:migration <name>, for example add_event_color\n',
  );
  process.exitCode = 1;
} else {
  const { fileName, diff } = await withScratchOrm(async (orm) => {
    await orm.migrator.up();
    return orm.migrator.create(undefined, false, false, name);
  });
  const told =
    diff.up.length > 0
      ? `Wrote migrations/${fileName}: read it before you commit it.`
      : 'Nothing to migrate.';
  process.stdout.write(`${told}\n`);
}
