import { defineEntity, p } from '@mikro-orm/core';

const AccountGateSchema = defineEntity({
  name: 'AccountGate',
  tableName: 'account_gate',
  properties: {
    /** Id of the account, or of the webhook for deliveries. */
    gateId: p.uuid().fieldName('account_id').primary(),
    /** Next free slot. All workers share this pace. */
    nextSlot: p.datetime().columnType('timestamptz').defaultRaw(`'-infinity'`),
    slotMs: p.integer().default(50),
    maxInFlight: p.smallint().default(8),
    /**
     * Until this time the circuit breaker is stopped. After it, the breaker is testing: one row at
     * a time runs until one reports `well`. `null` while the breaker is running.
     */
    stoppedUntil: p.datetime().fieldName('closed_until').columnType('timestamptz').nullable(),
    /** Number of consecutive troubles (`RateGateSignal`). */
    failures: p.smallint().default(0),
    /** Why the circuit breaker is stopped, in words for the user. */
    stopReason: p.text().fieldName('close_reason').nullable(),
  },
});

/**
 * Rate gate: pace, concurrency and circuit breaker of one account or webhook, shared by all
 * workers. Some columns still have their first names, because the release before reads them
 * (docs/upgrading.md).
 */
export class AccountGate extends AccountGateSchema.class {}
AccountGateSchema.setClass(AccountGate);
