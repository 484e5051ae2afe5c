import { defineEntity, p } from '@mikro-orm/core';
import { Calendar } from '../calendars/calendar.entity.ts';
import { idColumn } from '../../platform/database/base-columns.ts';
import { Grant } from '../../accounts/grants/grant.entity.ts';

const CalendarFeedSchema = defineEntity({
  name: 'CalendarFeed',
  tableName: 'calendar_feed',
  uniques: [
    { name: 'calendar_feed_calendar', properties: ['calendar'] },
    { name: 'calendar_feed_hash', properties: ['hash'] },
  ],
  indexes: [{ name: 'calendar_feed_account', properties: ['account'] }],
  properties: {
    ...idColumn,
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade'),
    calendar: () => p.manyToOne(Calendar).ref().deleteRule('cascade'),
    /** SHA-256 hash of the secret in the feed's URL. */
    hash: p.blob(),
    createdAt: p.datetime().columnType('timestamptz').defaultRaw('now()'),
  },
});

/** The secret URL of a calendar: anyone who knows the URL can read the calendar. */
export class CalendarFeed extends CalendarFeedSchema.class {}
CalendarFeedSchema.setClass(CalendarFeed);
