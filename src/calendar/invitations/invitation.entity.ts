import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../../platform/database/base-columns.ts';
import { Event } from '../events/event.entity.ts';
import { Grant } from '../../accounts/grants/grant.entity.ts';
import type { InvitationContent, InvitationRecipient } from './invitation-content.ts';
import { INVITATION_KINDS } from './invitation-plan.ts';

const InvitationSchema = defineEntity({
  name: 'Invitation',
  tableName: 'invitation',
  indexes: [
    { name: 'invitation_event', properties: ['event', 'id'] },
    { name: 'invitation_account', properties: ['account'] },
  ],
  properties: {
    /**
     * Also the id of the provider write that sends the mails after the change has reached the
     * provider.
     */
    ...idColumn,
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade'),
    event: () => p.manyToOne(Event).ref().deleteRule('cascade'),
    /** Id of the provider write that carries the change to the provider. */
    writeId: p.uuid(),
    kind: p.enum(INVITATION_KINDS),
    /** SEQUENCE of the notified revision. */
    sequence: p.integer(),
    /** At most 50 recipients, each with the id of the mail. */
    recipients: p.json<InvitationRecipient[]>(),
    /** The event as it was after this change; `null` once the mails are made. */
    content: p.json<InvitationContent>().nullable(),
    /** When the mails were added to the outbox. */
    releasedAt: p.datetime().columnType('timestamptz').nullable(),
    createdAt: p.datetime().columnType('timestamptz').defaultRaw('now()'),
  },
});

/**
 * Messages of one kind to participants about one change of an event. Kept as history until the
 * account is deleted.
 */
export class Invitation extends InvitationSchema.class {}
InvitationSchema.setClass(Invitation);
