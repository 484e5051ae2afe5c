import type { Bench } from './run.ts';
import { acceptRow } from './rows/accept.ts';
import { claimRow } from './rows/claim.ts';
import { connectRow } from './rows/connect.ts';
import { engineRow } from './rows/engine.ts';
import { fleetRow } from './rows/fleet.ts';
import { idleRow } from './rows/idle.ts';
import { latenessRow } from './rows/lateness.ts';
import { neighbourRow } from './rows/neighbour.ts';
import { sendRow } from './rows/send.ts';
import { webhooksRow } from './rows/webhooks.ts';

/** Measures the promised speed of the outbox. */
export const OUTBOX_BENCH: Bench = {
  name: 'outbox',
  rows: [
    acceptRow,
    sendRow,
    connectRow,
    engineRow,
    latenessRow,
    claimRow,
    neighbourRow,
    idleRow,
    webhooksRow,
    fleetRow,
  ],
};
