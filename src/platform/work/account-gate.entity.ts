import { defineEntity, p } from '@mikro-orm/core';

const AccountGateSchema = defineEntity({
  name: 'AccountGate',
  tableName: 'account_gate',
  properties: {
    /** The account, or the webhook for deliveries. */
    accountId: p.uuid().primary(),
    /** The next free slot: pacing shared by all workers. */
    nextSlot: p.datetime().columnType('timestamptz').defaultRaw(`'-infinity'`),
    slotMs: p.integer().default(50),
    maxInFlight: p.smallint().default(8),
    /** Nobody is let through until then; afterwards one at a time until it is well again. */
    closedUntil: p.datetime().columnType('timestamptz').nullable(),
    /** Troubles in a row. */
    failures: p.smallint().default(0),
    /** Why it is closed, in words for the user. */
    closeReason: p.text().nullable(),
  },
});

/** Pace, concurrency and breaker of one account, shared by all workers. */
export class AccountGate extends AccountGateSchema.class {}
AccountGateSchema.setClass(AccountGate);
