import { Injectable, type OnModuleInit } from '@nestjs/common';
import { UnwritableEventError } from '../../formats/ical/ical-fields.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { Database } from '../../platform/database/sql.ts';
import { findIcsInstances, findIcsRows, icsEventsOf, type IcsRow } from '../events/ics/ics-rows.ts';
import { icsOf } from '../events/ics/ics-writer.ts';
import type { ConnectedAccount } from '../../accounts/grants/provider-accounts.ts';
import {
  type ProviderWriteHandler,
  ProviderWrites,
  type WriteOutcome,
} from '../../accounts/provider-writes/provider-writes.ts';
import type { NewOutboxMessage } from '../../mail/outbox/outbox.service.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { ownAddress } from '../../mail/composing/outgoing-content.ts';
import type { InvitationContent, InvitationRecipient } from './invitation-content.ts';
import { invitationText } from './invitation-mail.ts';
import { METHODS } from './invitation-plan.ts';
import { InvitationsRepository, type WaitingInvitation } from './invitations.repository.ts';
import { SchedulingMails } from './scheduling-mails.ts';

const NEVER_NOTIFIED = 'was never notified of the event';

/** An invitation with all data that its mails need. */
interface Release {
  invitation: WaitingInvitation;
  content: InvitationContent;
  account: ConnectedAccount;
  uid: string;
  /** The event with its current id at the provider and with the values of `content`. */
  row: IcsRow;
  series: IcsRow | undefined;
  instances: readonly IcsRow[];
}

/**
 * Makes the mails about a change of an event and adds them to the outbox, after the change has
 * reached the provider. Runs as a provider write of the event, so that the changes of an event are
 * handled in order.
 *
 * No mail is sent if the change failed permanently. If the event was deleted before the change was
 * written, only cancellations are sent. A recipient gets no cancellation if earlier messages to
 * that recipient were planned and none was sent.
 */
@Injectable()
export class InvitationReleases implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly repository: InvitationsRepository,
    private readonly writes: ProviderWrites,
    private readonly mails: SchedulingMails,
    private readonly clock: Clock,
  ) {}

  onModuleInit(): void {
    this.writes.register('notify_participants', 'calendar', this.#release);
  }

  readonly #release: ProviderWriteHandler = async (_port, account, { jobId }) => {
    const invitation = await this.repository.find(account.accountId, jobId);
    if (!invitation?.content) return { kind: 'superseded', reason: 'The event was deleted' };
    const early = this.#resultUnlessWritten(invitation);
    if (early) return early;
    const release = await this.#load(account, invitation, invitation.content);
    if (!release) return { kind: 'superseded', reason: 'The event never reached its provider' };
    const notified = invitation.recipients.filter(
      (recipient) => !wasNeverNotified(invitation, recipient),
    );
    if (notified.length === 0)
      return { kind: 'superseded', reason: `Every recipient ${NEVER_NOTIFIED}` };
    const messages = await this.#messages(release, notified);
    const recipients = invitation.recipients.map((recipient) =>
      wasNeverNotified(invitation, recipient)
        ? { ...recipient, skipped: NEVER_NOTIFIED }
        : recipient,
    );
    return {
      kind: 'written',
      store: async (sql, at) => {
        await this.mails.accept(sql, messages);
        await this.repository.release(sql, account.accountId, jobId, recipients, at);
      },
    };
  };

  /**
   * Result for an invitation whose change is not at the provider; `null` if its mails may be made.
   * @throws {ProviderError} if the change has failed permanently
   */
  #resultUnlessWritten({ kind, writeStatus, writeReason }: WaitingInvitation): WriteOutcome | null {
    const why = writeReason ? `: ${writeReason}` : '';
    switch (writeStatus) {
      case 'pending':
      case 'delayed':
        return { kind: 'waits', until: this.clock.now() };
      case 'failed':
        throw new ProviderError(
          'rejected',
          `No participant was notified, because the change of the event failed${why}`,
        );
      case 'cancelled':
        // The event was deleted before the change was written. Participants who were removed by the
        // change must still get their cancellation.
        if (kind === 'cancel') return null;
        return {
          kind: 'superseded',
          reason: `The change of the event was cancelled before it reached the provider${why}`,
        };
      default:
        return null;
    }
  }

  async #load(
    account: ConnectedAccount,
    invitation: WaitingInvitation,
    content: InvitationContent,
  ): Promise<Release | undefined> {
    const { accountId } = account;
    const [stored] = await findIcsRows(this.database, accountId, [invitation.eventId]);
    if (!stored?.icalUid) return undefined;
    // A conference may have been created since the change was stored.
    const conferencing = content.event.conferencing ?? stored.conferencing;
    const row = { ...stored, ...content.event, conferencing, sequence: invitation.sequence };
    const { icalUid: uid, masterEventId } = stored;
    const [[series], instances] = await Promise.all([
      masterEventId ? findIcsRows(this.database, accountId, [masterEventId]) : [],
      // The cancellation of a whole series does not list its changed instances.
      row.recurrence && invitation.kind !== 'cancel'
        ? findIcsInstances(this.database, accountId, [row.id])
        : [],
    ]);
    return { invitation, content, account, uid, row, series, instances };
  }

  async #messages(
    release: Release,
    recipients: readonly InvitationRecipient[],
  ): Promise<NewOutboxMessage[]> {
    const mails = Map.groupBy(recipients, ({ mailId }) => mailId);
    const messages: NewOutboxMessage[] = [];
    for (const [id, together] of mails) messages.push(await this.#message(release, id, together));
    return messages;
  }

  async #message(
    release: Release,
    id: string,
    recipients: readonly InvitationRecipient[],
  ): Promise<NewOutboxMessage> {
    const { invitation, account, row, content } = release;
    const at = this.clock.now();
    const words = invitationText(invitation.kind, row, ownAddress(account), {
      zone: content.zone,
      isInstance: row.originalStart !== null,
    });
    const to = recipients.map(({ email, name }) => ({ email, name }));
    const method = METHODS[invitation.kind];
    return this.mails.compose({
      id,
      account,
      to,
      words,
      method,
      ics: fileFor(release, method, recipients, at),
      at,
    });
  }
}

/**
 * The calendar file of one mail (RFC 5546 3.2).
 * @throws {ProviderError} if the event cannot be written as a calendar file
 */
function fileFor(
  { invitation, content, account, uid, row, series, instances }: Release,
  method: string,
  recipients: readonly InvitationRecipient[],
  at: Date,
): string {
  const isRecipient = (email: string) => recipients.some((one) => one.email === email);
  const isCancelled = invitation.kind === 'cancel';
  const attendeesOf = ({ participants }: IcsRow) =>
    content.hideParticipants || isCancelled
      ? participants.filter(({ email }) => isRecipient(email))
      : participants;
  const removed = recipients.map(({ email, name }) => ({
    email,
    name,
    status: 'noreply' as const,
    comment: null,
    phone_number: null,
  }));
  const own: IcsRow = {
    ...row,
    status: isCancelled ? 'cancelled' : row.status,
    // A cancellation lists its recipients, even if they are no longer participants.
    participants: isCancelled ? removed : content.participants,
  };
  const people = {
    organizer: { email: account.email, name: account.name || null },
    attendeesOf,
    rsvp: !isCancelled,
  };
  try {
    return icsOf(
      { method },
      icsEventsOf(own, instances, { uid, series, people, stampOf: () => at }),
    );
  } catch (cause) {
    if (!(cause instanceof UnwritableEventError)) throw cause;
    throw new ProviderError('rejected', cause.message, { cause });
  }
}

const wasNeverNotified = (
  { kind, unnotified }: WaitingInvitation,
  { email }: InvitationRecipient,
): boolean => kind === 'cancel' && unnotified.includes(email);
