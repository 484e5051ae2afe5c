import { defineEntity, p } from '@mikro-orm/core';
import { ownedByApplication } from '../../database/owner-keys.ts';

const PrunedEventsSchema = defineEntity({
  name: 'PrunedEvents',
  tableName: 'webhook_event_pruned',
  properties: {
    application: () => ownedByApplication().primary(),
    type: p.text().primary(),
    /** Highest number of the deleted events. */
    seq: p.bigint('number'),
  },
});

/**
 * Up to which number events of an application have been deleted, for each trigger. A cursor of a
 * feed before this number has expired.
 */
export class PrunedEvents extends PrunedEventsSchema.class {}
PrunedEventsSchema.setClass(PrunedEvents);
