import { newId } from '../../base/ids/ids.ts';
import { toUnixSeconds } from '../../base/time/unix-seconds.ts';
import type { Trigger } from '../webhook-state.ts';

/** What differs between the payloads of triggers. */
interface Example {
  object: string;
  attributes?: Record<string, unknown>;
  metadata?: Record<string, unknown>;
}

const ID = '019aa1b2-0000-7000-8000-00000000000c';
const JOB = { action: 'new_outbox', job_status_id: ID, message_id: null, thread_id: null };
const FAILED_JOB = {
  ...JOB,
  extras: { reason: '550 5.1.1 User unknown', send_at: 1795255100, original_send_at: 1795255100 },
};
const MESSAGE = { thread_id: ID, received_date: 1795255200 };
const EVENT = { calendar_id: ID, created_before_account_connection: false };
const QUOTA = {
  quota: 'sms',
  per: 'account',
  limit: 100,
  window_start: 1795305600,
  window_end: 1795392000,
};

/** One example for each trigger, as docs/webhook-payloads.md describes them. */
const EXAMPLES: Readonly<Record<Trigger, Example>> = {
  'account.connected': { object: 'account' },
  'account.running': { object: 'account' },
  'account.stopped': { object: 'account' },
  'account.invalid': { object: 'account' },
  'account.sync_error': { object: 'account' },
  'account.proof_changed': {
    object: 'account',
    attributes: { address_proven: true, proof: 'oauth' },
  },
  'message.created': { object: 'message', attributes: MESSAGE },
  'message.updated': { object: 'message', attributes: MESSAGE },
  'message.opened': { object: 'message', metadata: { message_id: ID, count: 1 } },
  'message.link_clicked': { object: 'message', metadata: { message_id: ID, count: 1 } },
  'message.bounced': { object: 'message', metadata: { message_id: ID } },
  'thread.replied': { object: 'thread', metadata: { message_id: ID, thread_id: ID } },
  'contact.created': { object: 'contact' },
  'contact.updated': { object: 'contact' },
  'contact.deleted': { object: 'contact' },
  'calendar.created': { object: 'calendar' },
  'calendar.updated': { object: 'calendar' },
  'calendar.deleted': { object: 'calendar' },
  'event.created': { object: 'event', attributes: EVENT },
  'event.updated': { object: 'event', attributes: EVENT },
  'event.deleted': { object: 'event', attributes: EVENT },
  'job.successful': { object: 'job_status', attributes: JOB },
  'job.failed': { object: 'job_status', attributes: FAILED_JOB },
  'job.delayed': { object: 'job_status', attributes: FAILED_JOB },
  'job.cancelled': { object: 'job_status', attributes: FAILED_JOB },
  'quota.reached': { object: 'quota', attributes: QUOTA },
};

/**
 * The body of a delivery with one example event of a trigger, marked with `test: true`. Its account
 * and object do not exist.
 */
export function exampleBody(trigger: Trigger, at: Date): Buffer {
  const { object, attributes = null, metadata = null } = EXAMPLES[trigger];
  const account = newId();
  const delta = {
    date: toUnixSeconds(at),
    object,
    type: trigger,
    test: true,
    object_data: {
      namespace_id: account,
      account_id: account,
      object,
      id: newId(),
      attributes,
      metadata,
    },
  };
  return Buffer.from(JSON.stringify({ deltas: [delta] }));
}
