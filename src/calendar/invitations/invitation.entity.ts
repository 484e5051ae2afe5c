import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../../platform/database/base-columns.ts';
import { Event } from '../event-store/event.entity.ts';
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
    /** Is the job that hands the mails over once the change is at the provider. */
    ...idColumn,
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade'),
    event: () => p.manyToOne(Event).ref().deleteRule('cascade'),
    /** The job that carries the change to the provider. */
    writeId: p.uuid(),
    kind: p.enum(INVITATION_KINDS),
    /** SEQUENCE of the revision that is told. */
    sequence: p.integer(),
    /** At most 50, each with the job of the mail. */
    recipients: p.json<InvitationRecipient[]>(),
    /** The event as it was with this change; null once the mails are made. */
    content: p.json<InvitationContent>().nullable(),
    /** When the mails were handed over to be sent. */
    releasedAt: p.datetime().columnType('timestamptz').nullable(),
    createdAt: p.datetime().columnType('timestamptz').defaultRaw('now()'),
  },
});

/** What some participants of an event are told of one change of it. Stays as history until the account goes. */
export class Invitation extends InvitationSchema.class {}
InvitationSchema.setClass(Invitation);
