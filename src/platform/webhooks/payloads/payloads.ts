import type { ZodType } from 'zod';
import type { Trigger } from '../webhook-state.ts';
import {
  accountNotice,
  bouncedMetadata,
  clickedMetadata,
  deletedEventNotice,
  deletedMessageNotice,
  eventNotice,
  expiredGrantNotice,
  grantNotice,
  jobNotice,
  messageNotice,
  objectMetadata,
  openedMetadata,
  proofNotice,
  quotaNotice,
  reminderNotice,
  repliedMetadata,
  updatedGrantNotice,
  webhookNotice,
} from './notices.schema.ts';

/** What the webhook of a trigger contains. */
export interface Payload {
  /** One line for the API documentation. */
  summary: string;
  /** `object_data.attributes`, stored with the event; `null`: none. */
  attributes: ZodType | null;
  /** `object_data.metadata`; `null`: none. */
  metadata: ZodType | null;
  /** Whether `attributes` can be the object itself (`content` of a webhook). */
  hasObject: boolean;
}

const payload = (
  summary: string,
  attributes: ZodType | null = null,
  metadata: ZodType | null = null,
): Payload => ({ summary, attributes, metadata, hasObject: false });

/** A payload that can contain its object. */
const ofObject = (...given: Parameters<typeof payload>): Payload => ({
  ...payload(...given),
  hasObject: true,
});

/** The three triggers of a kind of object; a deleted object cannot be shown. */
function lifeOf<
  Kind extends 'thread' | 'folder' | 'label' | 'draft' | 'calendar' | 'event' | 'contact',
>(
  kind: Kind,
  attributes: ZodType | null = null,
  metadata: ZodType | null = null,
): Record<`${Kind}.${'created' | 'updated' | 'deleted'}`, Payload> {
  return {
    [`${kind}.created`]: ofObject(`A new ${kind}`, attributes, metadata),
    [`${kind}.updated`]: ofObject(`A changed ${kind}`, attributes, metadata),
    [`${kind}.deleted`]: payload(`A deleted ${kind}`, attributes, metadata),
  } as Record<`${Kind}.${'created' | 'updated' | 'deleted'}`, Payload>;
}

/** The contents of the webhooks of every trigger. */
export const PAYLOADS: Readonly<Record<Trigger, Payload>> = {
  'account.connected': payload('A user has connected the account, or signed in again'),
  'account.running': payload('The account is synchronised', accountNotice),
  'account.stopped': payload('The account was cancelled or deleted', accountNotice),
  'account.invalid': payload('The user has to sign in again', accountNotice),
  'account.sync_error': payload('The account cannot be synchronised', accountNotice),
  'account.proof_changed': payload('What proves the address has changed', proofNotice),
  'grant.created': payload('A user has connected an account for the first time', grantNotice),
  'grant.updated': payload('A grant was changed, or signed in again', updatedGrantNotice),
  'grant.expired': payload('A grant does not work until its user signs in', expiredGrantNotice),
  'grant.deleted': payload('A grant was deleted', grantNotice),
  'message.created': ofObject('A new message', messageNotice),
  'message.updated': ofObject('A changed message', messageNotice),
  'message.deleted': payload('A deleted message', deletedMessageNotice),
  'message.opened': ofObject('A tracked message was opened', null, openedMetadata),
  'message.link_clicked': ofObject('A link of a message was clicked', null, clickedMetadata),
  'message.bounced': ofObject('A message did not arrive', null, bouncedMetadata),
  ...lifeOf('thread'),
  'thread.replied': ofObject('Somebody replied to a tracked message', null, repliedMetadata),
  ...lifeOf('folder'),
  ...lifeOf('label'),
  ...lifeOf('draft'),
  ...lifeOf('contact'),
  ...lifeOf('calendar', null, objectMetadata),
  ...lifeOf('event', eventNotice, objectMetadata),
  'event.deleted': payload('A deleted event', deletedEventNotice, objectMetadata),
  'reminder.sent': payload('A reminder was sent', reminderNotice),
  'reminder.failed': payload('A reminder could not be sent', reminderNotice),
  'job.successful': payload('A job has succeeded', jobNotice),
  'job.failed': payload('A job has failed', jobNotice),
  'job.delayed': payload('A job is tried again later', jobNotice),
  'job.cancelled': payload('A job was cancelled', jobNotice),
  'quota.reached': payload('A quota of the operator is used up', quotaNotice),
  'webhook.failing': payload('Deliveries to another webhook fail', webhookNotice),
  'webhook.failed': payload('Deliveries to another webhook have stopped', webhookNotice),
  'webhook.recovered': payload('Deliveries to another webhook succeed again', webhookNotice),
};
