import type { Capacity } from '../../../operator/capacity/capacity.ts';
import { localTime } from '../../terminal/cells.ts';
import { wrappedTable } from '../../terminal/table.ts';
import { example } from '../arguments.ts';
import { type AddCommands, type OperatorCli, readable, readableWhole } from '../cli.ts';

const COLUMNS = ['table', 'rows', 'bytes', 'index_bytes', 'dead_rows', 'bytes_per_day'] as const;

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** A number of bytes as people read it, such as `31.2 GiB`. */
function size(bytes: number): string {
  const power = Math.min(Math.floor(Math.log2(Math.max(Math.abs(bytes), 1)) / 10), 4);
  return `${(bytes / 1024 ** power).toFixed(power === 0 ? 0 : 1)} ${UNITS[power]}`;
}

const perDay = (bytes: number | null): string => (bytes === null ? '' : size(bytes));

/** Tables smaller than this are not worth a line. */
const SMALL_BYTES = 1024 * 1024;

function forecast({ disk: { freeBytes, fullAt, source }, bytesPerDay }: Capacity): string {
  if (freeBytes === null)
    return 'Disk: PostgreSQL does not say how large its disk is; set DATABASE_DISK_GB for a forecast.';
  const free = `Disk: ${size(freeBytes)} free (${source === 'disk' ? 'file system of DATA_DIR' : 'DATABASE_DISK_GB'})`;
  if (fullAt !== null) return `${free}, full on ${localTime(fullAt).slice(0, 10)} at this pace.`;
  return bytesPerDay === null
    ? `${free}; the growth is known once there are sizes of two days.`
    : `${free}; it does not fill at this pace.`;
}

function describe(cli: OperatorCli, capacity: Capacity): string {
  const { tables, retention, databaseBytes, bytesPerDay } = capacity;
  const large = tables.filter(({ bytes }, index) => bytes >= SMALL_BYTES || index < 5);
  const rows = large.map((table) => ({
    table: table.table,
    rows: table.rows,
    size: size(table.bytes),
    indexes: size(table.indexBytes),
    dead_rows: table.deadRows,
    a_day: perDay(table.bytesPerDay),
  }));
  return [
    `Database: ${size(databaseBytes)}${bytesPerDay === null ? '' : `, ${size(bytesPerDay)} a day`}`,
    forecast(capacity),
    cli.table(rows, ['table', 'rows', 'size', 'indexes', 'dead_rows', 'a_day']),
    wrappedTable(retention.map(readable), ['what', 'kept', 'setting'], cli.room),
  ].join('\n');
}

/** Adds `carillon capacity`. */
export const add: AddCommands = (group, cli) => {
  group.addHelpText(...example('capacity --output=csv')).action(async () => {
    const { OperatorCapacity } = await import('../../../operator/capacity/operator-capacity.ts');
    const capacity = await cli.withServices(({ database, config, clock }) =>
      new OperatorCapacity(database, config, clock).read(),
    );
    cli.print(readableWhole(capacity), () => describe(cli, capacity), {
      rows: capacity.tables,
      columns: COLUMNS,
    });
  });
};
