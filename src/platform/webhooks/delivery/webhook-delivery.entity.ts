import { defineEntity, p } from '@mikro-orm/core';
import { queueColumns, tracedColumns } from '../../database/base-columns.ts';
import { ROW_CLAIMED, ROW_WAITING } from '../../work/queue/row-state.ts';

const HookJobSchema = defineEntity({
  name: 'WebhookDelivery',
  tableName: 'hook_job',
  uniques: [{ name: 'hook_job_webhook_event', properties: ['webhookId', 'eventId'] }],
  indexes: [
    { name: 'hook_job_due', properties: ['runAt'], where: `state = ${ROW_WAITING}` },
    { name: 'hook_job_busy', properties: ['webhookId'], where: `state = ${ROW_CLAIMED}` },
  ],
  properties: {
    ...queueColumns,
    /**
     * The event to deliver again. For a lane: its account. A process of the release before finds no
     * such event, and deletes the row; a trigger then queues the events of the lane one by one.
     */
    eventId: p.uuid(),
    /**
     * No foreign key: checking it would be a considerable part of the cost of inserting the row. A
     * delivery whose webhook was deleted is dropped.
     */
    webhookId: p.uuid(),
    /** End of the retries. A lane does not use it: each of its events has its own end. */
    giveUpAt: p.datetime().columnType('timestamptz'),
    /** Number up to which the lane has delivered. `null`, as the next two: the row is no lane. */
    fromSeq: p.bigint('number').nullable(),
    /**
     * The events of the present batch are above `fromSeq`, up to this number. Set by the claim and
     * kept until the batch is delivered, so that a repetition has the same events. `null` between
     * two batches.
     */
    batchSeq: p.bigint('number').nullable(),
    /** Number of the last event that the lane has to deliver. */
    wantedSeq: p.bigint('number').nullable(),
    /**
     * Whether the row was made by a replay: its deliveries have the header `carillon-replay`. Never
     * true for a lane.
     */
    replay: p.boolean().default(false),
    ...tracedColumns,
  },
});

/**
 * Queue row of deliveries to one webhook: a lane, or one event to deliver again apart from its
 * lane.
 */
export class WebhookDelivery extends HookJobSchema.class {}
HookJobSchema.setClass(WebhookDelivery);
