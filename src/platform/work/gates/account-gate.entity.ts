import { defineEntity, p } from '@mikro-orm/core';

const AccountGateSchema = defineEntity({
  name: 'AccountGate',
  tableName: 'account_gate',
  properties: {
    /** Id of the account, or of the webhook for deliveries. */
    accountId: p.uuid().primary(),
    /** Next free slot. All workers share this pace. */
    nextSlot: p.datetime().columnType('timestamptz').defaultRaw(`'-infinity'`),
    slotMs: p.integer().default(50),
    maxInFlight: p.smallint().default(8),
    /**
     * Until this time the gate lets no row through. After it, one row at a time may run until one
     * reports `well`. `null` if the gate is open.
     */
    closedUntil: p.datetime().columnType('timestamptz').nullable(),
    /** Number of consecutive troubles (`RateGateSignal`). */
    failures: p.smallint().default(0),
    /** Why the gate is closed, in words for the user. */
    closeReason: p.text().nullable(),
  },
});

/**
 * Rate gate: pace, concurrency and circuit breaker of one account or webhook, shared by all
 * workers.
 */
export class AccountGate extends AccountGateSchema.class {}
AccountGateSchema.setClass(AccountGate);
