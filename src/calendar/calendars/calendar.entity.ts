import { defineEntity, p } from '@mikro-orm/core';
import { idColumn, timestampColumns } from '../../platform/database/base-columns.ts';
import { Grant } from '../../accounts/grants/grant.entity.ts';

const CalendarSchema = defineEntity({
  name: 'Calendar',
  tableName: 'calendar',
  uniques: [{ name: 'calendar_account_provider_id', properties: ['account', 'providerId'] }],
  indexes: [
    {
      name: 'calendar_emailed',
      properties: ['account'],
      expression: 'create unique index calendar_emailed on calendar (account_id) where is_emailed',
    },
  ],
  properties: {
    ...idColumn,
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade'),
    /** Null until the provider has it. */
    providerId: p.text().nullable(),
    name: p.text(),
    description: p.text().nullable(),
    location: p.text().nullable(),
    /** IANA name. */
    timezone: p.text().nullable(),
    hexColor: p.text().nullable(),
    isPrimary: p.boolean(),
    readOnly: p.boolean(),
    /** Holds the events that have come by mail; never at a provider. */
    isEmailed: p.boolean().default(false),
    /** How far the mirror of its events has come, in the provider's own terms. */
    eventCursor: p.text().nullable(),
    /** When the mirror first had all of its events; those it had until then are history. */
    eventsSince: p.datetime().columnType('timestamptz').nullable(),
    metadata: p.json<Record<string, string>>(),
    ...timestampColumns,
  },
});

/** A calendar (spec 2.7). */
export class Calendar extends CalendarSchema.class {}
CalendarSchema.setClass(Calendar);
