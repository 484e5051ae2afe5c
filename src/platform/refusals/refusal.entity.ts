import { defineEntity, p } from '@mikro-orm/core';

const RefusalSchema = defineEntity({
  name: 'Refusal',
  tableName: 'refusal',
  indexes: [{ name: 'refusal_seen', properties: ['seenAt'] }],
  properties: {
    /** Kind and sender in one text, so that processes add to the same row. */
    key: p.text().primary(),
    /** `login`: wrong credentials; `limit`: requests above a limit. */
    kind: p.text(),
    /** `null` if the requests named no application. */
    applicationId: p.uuid().nullable(),
    /** `null` if the account is not known. */
    accountId: p.uuid().nullable(),
    /** Network address; `null` if the account is known, or an application is above a limit. */
    client: p.text().nullable(),
    /** Refused requests since `beganAt`. */
    refused: p.bigint(),
    beganAt: p.datetime().columnType('timestamptz'),
    seenAt: p.datetime().columnType('timestamptz'),
  },
});

/** Refused requests of one sender, counted by all processes. Kept for an hour (docs/adr/0102). */
export class Refusal extends RefusalSchema.class {}
RefusalSchema.setClass(Refusal);
