import type { Bench } from './run.ts';
import { availabilityRow } from './rows/mailbox-availability.ts';
import { deliveryRow } from './rows/mailbox-delivery.ts';
import { filesRow } from './rows/mailbox-files.ts';
import { watchedRow } from './rows/mailbox-idle.ts';
import { listsRow } from './rows/mailbox-lists.ts';
import { mirrorRow } from './rows/mailbox-mirror.ts';
import { pollsRow } from './rows/mailbox-polls.ts';
import { searchRow } from './rows/mailbox-search.ts';
import { readRow } from './rows/read.ts';
import { watchClaimsRow } from './rows/watch-claims.ts';

/** Measures the promised speed of the mirror, on a real Dovecot. */
export const MAILBOX_BENCH: Bench = {
  name: 'mailbox',
  rows: [
    mirrorRow,
    deliveryRow,
    watchedRow,
    pollsRow,
    watchClaimsRow,
    readRow,
    listsRow,
    searchRow,
    filesRow,
    availabilityRow,
  ],
};
