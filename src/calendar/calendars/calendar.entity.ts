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
    /** `null` until the provider has the calendar. */
    providerId: p.text().nullable(),
    name: p.text(),
    description: p.text().nullable(),
    location: p.text().nullable(),
    /** IANA name. */
    timezone: p.text().nullable(),
    hexColor: p.text().nullable(),
    isPrimary: p.boolean(),
    readOnly: p.boolean(),
    /** True for the calendar of emailed events, which never exists at a provider. */
    isEmailed: p.boolean().default(false),
    /**
     * True from the deletion of the calendar until its provider has deleted it. The calendar and
     * its events are not shown.
     */
    deleting: p.boolean().default(false),
    /** Cursor of the mirror of the calendar's events, in the provider's own format. */
    eventCursor: p.text().nullable(),
    /**
     * When the mirror first had all events of the calendar. Events stored before that are logged
     * without notifying subscribers.
     */
    eventsSince: p.datetime().columnType('timestamptz').nullable(),
    /**
     * Since when the provider lists no calendar at all and does not find this one; `null` if its
     * last answer was otherwise (ADR 0124).
     */
    missingSince: p.datetime().columnType('timestamptz').nullable(),
    metadata: p.json<Record<string, string>>(),
    ...timestampColumns,
  },
});

/** A calendar of an account. */
export class Calendar extends CalendarSchema.class {}
CalendarSchema.setClass(Calendar);
