import { withScratchOrm } from './lib/scratch-database.ts';

/**
 * Checks that the migrations produce the schema of the entities, and that every migration can run
 * up, down and up again.
 */
const problem = await withScratchOrm(async (orm) => {
  await orm.migrator.up();
  const missing = await orm.schema.getUpdateSchemaSQL({ wrap: false });
  if (missing.trim()) {
    return `The migrations and the entities differ. Run: npm run db:migration <name>\n\n${missing}`;
  }
  await orm.migrator.down({ to: 0 });
  await orm.migrator.up();
  const afterwards = await orm.schema.getUpdateSchemaSQL({ wrap: false });
  return afterwards.trim()
    ? `The schema differs after every migration ran up, down and up again:\n\n${afterwards}`
    : undefined;
});
if (problem) {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
}
