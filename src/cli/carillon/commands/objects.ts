import { OperatorError } from '../../../platform/base/errors/operator-error.ts';
import type { ObjectsConfig } from '../../../platform/config/sections/objects-config.ts';
import { example } from '../arguments.ts';
import type { AddCommands, OperatorCli } from '../cli.ts';
import type { OperatorServices } from '../services.ts';

/** Where bodies can be. */
const PLACES = ['objects', 'database'] as const;
type Place = (typeof PLACES)[number];

/** Bodies cannot be moved, or only some were. */
class ObjectsMoveError extends OperatorError {}

/** @throws {ObjectsMoveError} unless the configuration suits the direction */
function requireStore({ objects }: OperatorServices['config'], to: Place): ObjectsConfig {
  if (!objects.store)
    throw new ObjectsMoveError('usage', 'OBJECTS_URL: is required to move bodies');
  if (objects.writes === (to === 'objects')) return objects.store;
  throw new ObjectsMoveError(
    'usage',
    `OBJECTS_WRITE: must be ${to === 'objects'} to move bodies to the ${PLACE_NAMES[to]}, for this command and for all processes of the server`,
  );
}

const PLACE_NAMES = { objects: 'object store', database: 'database' } as const;

/** @returns the number of bodies that were moved */
async function move(
  { config, database }: OperatorServices,
  to: Place,
  show: (text: string) => void,
): Promise<number> {
  const [{ S3Store }, { ObjectStoreUnavailableError }, transfers, { recordAudit }] =
    await Promise.all([
      import('../../../platform/objects/s3/s3-store.ts'),
      import('../../../platform/objects/object-errors.ts'),
      import('../../../mail/messages/objects/body-transfers.ts'),
      import('../../../platform/audit/record-audit.ts'),
    ]);
  const store = new S3Store(requireStore(config, to));
  await recordAudit(database, {
    action: 'objects.move',
    target: { type: 'bodies', id: to },
  });
  let moved = 0;
  const onMoved = (count: number) => {
    moved += count;
    show(`${moved} bodies moved`);
  };
  try {
    if (to === 'database') await transfers.moveToDatabase({ database, store }, onMoved);
    else await transfers.moveToObjects({ database, store }, config.objects.minBytes, onMoved);
    return moved;
  } catch (error) {
    if (!(error instanceof ObjectStoreUnavailableError)) throw error;
    throw new ObjectsMoveError(
      'unavailable',
      `The object store does not work: ${error.reason}. ${moved} bodies were moved; repeat the command to move the others.`,
      { cause: error },
    );
  } finally {
    await store.close();
  }
}

async function run(cli: OperatorCli, place: string): Promise<void> {
  const to = PLACES.find((each) => each === place);
  if (!to) throw new ObjectsMoveError('usage', '--to: must be objects or database');
  const moved = await cli.withProgress('opening the database', (show) =>
    cli.withServices((services) => move(services, to, show)),
  );
  cli.print({ moved }, () => `Moved ${moved} bodies to the ${PLACE_NAMES[to]}.`);
}

/** Adds `carillon objects`. */
export const add: AddCommands = (group, cli) => {
  group
    .command('move')
    .description(
      'move bodies of messages while the server runs; after an interruption, run it again',
    )
    .requiredOption('--to <place>', 'objects (the object store) or database')
    .addHelpText(...example('objects move --to objects'))
    .action(({ to }: { to: string }) => run(cli, to));
};
