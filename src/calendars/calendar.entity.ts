import { defineEntity, p } from '@mikro-orm/core';
import { idColumn, timestampColumns } from '../database/base-columns.ts';
import { Grant } from '../grants/grant.entity.ts';

const CalendarSchema = defineEntity({
  name: 'Calendar',
  tableName: 'calendar',
  uniques: [{ name: 'calendar_account_provider_id', properties: ['account', 'providerId'] }],
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
    metadata: p.json<Record<string, string>>(),
    ...timestampColumns,
  },
});

/** A calendar (spec 2.7). */
export class Calendar extends CalendarSchema.class {}
CalendarSchema.setClass(Calendar);
