import { FIRST_MIRROR_BENCH } from './first-mirror.ts';
import { MAILBOX_BENCH } from './mailbox.ts';
import { OUTBOX_BENCH } from './outbox.ts';
import type { Bench } from './run.ts';

/** All parts of the bench, in the order of measurement. */
export const BENCHES: readonly Bench[] = [OUTBOX_BENCH, MAILBOX_BENCH, FIRST_MIRROR_BENCH];
