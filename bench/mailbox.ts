import type { Bench } from './run.ts';
import { availabilityRow } from './rows/mailbox-availability.ts';
import { deliveryRow } from './rows/mailbox-delivery.ts';
import { filesRow } from './rows/mailbox-files.ts';
import { watchedRow } from './rows/mailbox-idle.ts';
import { listsRow } from './rows/mailbox-lists.ts';
import { mirrorRow } from './rows/mailbox-mirror.ts';
import { searchRow } from './rows/mailbox-search.ts';
import { readRow } from './rows/read.ts';

/** Measures the promised speed of the mirror, on a real Dovecot. */
export const MAILBOX_BENCH: Bench = {
  name: 'bench:mailbox',
  rows: [mirrorRow, deliveryRow, watchedRow, readRow, listsRow, searchRow, filesRow, availabilityRow],
};
