import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { allows, SCOPES_FOR } from '../../platform/auth/scopes.ts';
import { ForbiddenError, InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import type { Page } from '../../platform/database/listing.ts';
import { isId, newId } from '../../platform/base/ids/ids.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { pickFields, SHOWN_FIELDS } from '../events/event-columns.ts';
import type { EventFields, EventRecord } from '../events/event-record.ts';
import type { Participant } from '../events/event-values.ts';
import { EventReader } from '../events/event-reader.ts';
import type {
  EventInvitations,
  InvitingWrite,
  Organized,
} from '../events/ports/event-invitations.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import type { InvitationContent, InvitationRecipient } from './invitation-content.ts';
import {
  type EventChange,
  resetResponses,
  planInvitations,
  type PlannedInvitations,
  raisesSequence,
} from './invitation-plan.ts';
import {
  type InvitationResult,
  InvitationsRepository,
  type NewInvitation,
} from './invitations.repository.ts';

/** The provider mails participants about every change, although the request said not to. */
export class AlwaysNotifiedError extends InvalidInputError {
  constructor() {
    super(
      'notify_participants: the provider of this account mails the participants about every change of its events, so false is possible only without other participants; leave it out or send true',
    );
  }
}

/** Most recipients of one mail: servers refuse or scrutinise mails with more. */
const MOST_TOGETHER = 50;

/** Notifies participants of changes of their events by mail (docs/invitations.md). */
@Injectable()
export class InvitationsService implements EventInvitations {
  constructor(
    private readonly events: EventReader,
    private readonly repository: InvitationsRepository,
    private readonly connectors: ConnectorRegistry,
  ) {}

  assertAllowed(
    { provider, scopes }: AccountPrincipal,
    { notifyParticipants }: { notifyParticipants?: boolean | undefined },
  ): void {
    if (!notifyParticipants || this.connectors.participantMail(provider) !== 'never') return;
    if (!this.connectors.require(provider).mail)
      throw new InvalidInputError(
        'notify_participants: this account has calendars only and cannot send mail',
      );
    if (!allows(scopes, SCOPES_FOR.sendMail))
      throw new ForbiddenError(
        'scope.missing',
        `notify_participants: this needs one of the scopes ${SCOPES_FOR.sendMail.join(', ')}, which the account has not granted.`,
      );
  }

  participantsAfter(
    account: AccountPrincipal,
    event: Organized,
    {
      before,
      after,
      notify,
    }: { before: EventFields; after: EventFields; notify: boolean | undefined },
  ): Participant[] {
    return this.#isNotified(account, event, notify)
      ? resetResponses(before, after, account.email)
      : after.participants;
  }

  asksProvider(account: AccountPrincipal, event: Organized, notify: boolean | undefined): boolean {
    const by = this.connectors.participantMail(account.provider);
    return isOwn(account, event) && notify === true && by === 'on-request';
  }

  raisesSequence(account: AccountPrincipal, write: InvitingWrite): boolean {
    return (
      isOwn(account, write.event) && raisesSequence(changeOf(write), this.#plan(account, write))
    );
  }

  async store(
    sql: Sql,
    account: AccountPrincipal,
    write: InvitingWrite,
    sequence: number,
  ): Promise<void> {
    const { event, notify, writeId, at } = write;
    const plan = this.#plan(account, write);
    if (plan.length === 0) return;
    if (notify === false) throw new AlwaysNotifiedError();
    if (this.connectors.participantMail(account.provider) !== 'never') return;
    const invitations = plan.flatMap((planned) => inParts(planned, event, sequence));
    const source = {
      accountId: account.accountId,
      eventId: event.id,
      writeId,
      content: contentOf(write),
      at,
    };
    await this.repository.insert(sql, source, invitations);
  }

  raiseWaiting(sql: Sql, eventId: string, by: number): Promise<void> {
    return this.repository.raiseWaiting(sql, eventId, by);
  }

  /**
   * The messages to participants of an event with their status, latest first.
   * @throws {NotFoundError}
   */
  async list(accountId: string, eventId: string, page: Page): Promise<InvitationResult[]> {
    const event = await this.events.get(accountId, eventId);
    return isId(event.id) ? this.repository.list(accountId, event.id, page) : [];
  }

  /** True if a write notifies participants by mail: by Carillon or by the provider (ADR 0078). */
  #isNotified(account: AccountPrincipal, event: Organized, notify: boolean | undefined): boolean {
    const by = this.connectors.participantMail(account.provider);
    return isOwn(account, event) && (notify === true || by === 'always');
  }

  #plan(account: AccountPrincipal, write: InvitingWrite): PlannedInvitations[] {
    return this.#isNotified(account, write.event, write.notify)
      ? planInvitations(changeOf(write), account.email)
      : [];
  }
}

/** True if the account is the organizer of the event. */
const isOwn = ({ email }: AccountPrincipal, { organizerEmail }: Organized): boolean =>
  (organizerEmail ?? email).toLowerCase() === email.toLowerCase();

const changeOf = ({ before, event }: InvitingWrite): EventChange => ({
  before,
  after: event,
  cancelled: event.status === 'cancelled',
});

/**
 * Splits recipients into stored parts of limited size. The recipients of a part share one mail, or
 * get one each if participants are hidden.
 */
function inParts(
  { kind, recipients }: PlannedInvitations,
  { hideParticipants }: EventRecord,
  sequence: number,
): NewInvitation[] {
  const parts: NewInvitation[] = [];
  for (let from = 0; from < recipients.length; from += MOST_TOGETHER) {
    const shared = newId();
    const toRecipient = ({ email, name }: Participant): InvitationRecipient => ({
      email,
      name,
      mailId: hideParticipants ? newId() : shared,
    });
    const part = recipients.slice(from, from + MOST_TOGETHER).map(toRecipient);
    parts.push({ kind, sequence, recipients: part });
  }
  return parts;
}

function contentOf({ event, zone }: InvitingWrite): InvitationContent {
  return {
    event: pickFields(event, SHOWN_FIELDS),
    participants: event.participants,
    hideParticipants: event.hideParticipants,
    zone,
  };
}
