import type { EntityManager } from '@mikro-orm/postgresql';
import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { allows, SCOPES_FOR } from '../../platform/auth/scopes.ts';
import { ForbiddenError, InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import type { Page } from '../../platform/database/listing.ts';
import { isId, newId } from '../../platform/base/ids/ids.ts';
import { sqlOf } from '../../platform/database/sql.ts';
import { pickFields, SHOWN_FIELDS } from '../events/event-columns.ts';
import { type EventFields, eventFields } from '../events/event-record.ts';
import type { Event } from '../events/event.entity.ts';
import type { Participant } from '../events/event-values.ts';
import { EventReader } from '../events/event-reader.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import type { InvitationContent, InvitationRecipient } from './invitation-content.ts';
import {
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

/** A write of an event, as far as it concerns participants. */
export interface InvitingWrite {
  /** The event before the write; `null` if the event is new. */
  before: EventFields | null;
  /** `notify_participants` of the request. */
  notify: boolean | undefined;
  /** Id of the provider write that carries the change to the provider. */
  writeId: string;
  at: Date;
}

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

/** Whether participants are notified, and by whom (ADR 0078). */
export interface Notifying {
  /** True if Carillon or the provider mails the participants. */
  isNotified: boolean;
  /** True if the provider write has to ask the provider to mail them. */
  asksProvider: boolean;
}

/** Notifies participants of changes of their events by mail (docs/invitations.md). */
@Injectable()
export class Invitations {
  constructor(
    private readonly events: EventReader,
    private readonly repository: InvitationsRepository,
    private readonly connectors: ConnectorRegistry,
  ) {}

  /**
   * Checks whether this account may notify participants. Call it before anything is stored. If its
   * provider mails participants, the user has allowed that with the access to the calendar.
   * @throws {InvalidInputError} if the account cannot send mail
   * @throws {ForbiddenError} if the account has granted no scope for sending
   */
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

  /**
   * The participants of an event after a change, with their responses. If the time changes and
   * participants are notified, their earlier responses are reset. Call it before the event gets its
   * new values.
   */
  participantsAfter(
    account: AccountPrincipal,
    { organizerEmail }: { organizerEmail?: string | null | undefined },
    {
      before,
      after,
      notify,
    }: { before: EventFields; after: EventFields; notify: boolean | undefined },
  ): Participant[] {
    return this.notifying(account, { organizerEmail }, notify).isNotified
      ? resetResponses(before, after, account.email)
      : after.participants;
  }

  /**
   * Whether a write of an event notifies participants. Writes of events with another organizer
   * never do.
   * @param notify `notify_participants` of the request
   */
  notifying(
    account: AccountPrincipal,
    { organizerEmail }: { organizerEmail?: string | null | undefined },
    notify: boolean | undefined,
  ): Notifying {
    if (!isOwn(account, organizerEmail)) return { isNotified: false, asksProvider: false };
    const by = this.connectors.participantMail(account.provider);
    const isAsked = notify === true;
    return { isNotified: isAsked || by === 'always', asksProvider: isAsked && by === 'on-request' };
  }

  /**
   * Handles a write of an event in its transaction: raises SEQUENCE if required, and stores the
   * messages to participants, unless the provider mails them. The messages are sent after the write
   * has reached the provider. Does nothing for an event with another organizer. Call it after the
   * event has its new values.
   * @throws {InvalidInputError} if no participant must be notified, but the provider mails them
   */
  async follow(
    em: EntityManager,
    account: AccountPrincipal,
    event: Event,
    { before, notify, writeId, at }: InvitingWrite,
  ): Promise<void> {
    if (!isOwn(account, event.organizerEmail)) return;
    const change = { before, after: eventFields(event), cancelled: event.status === 'cancelled' };
    const { isNotified } = this.notifying(account, event, notify);
    const plan = isNotified ? planInvitations(change, account.email) : [];
    if (raisesSequence(change, plan)) event.sequence += 1;
    if (plan.length === 0) return;
    if (notify === false) throw new AlwaysNotifiedError();
    if (this.connectors.participantMail(account.provider) !== 'never') return;
    // The rows of invitations refer to the row of the event.
    await em.flush();
    const invitations = plan.flatMap((planned) => inParts(planned, event));
    const source = {
      accountId: account.accountId,
      eventId: event.id,
      writeId,
      content: contentOf(event),
      at,
    };
    await this.repository.insert(sqlOf(em), source, invitations);
  }

  /**
   * The messages to participants of an event with their status, latest first.
   * @throws {NotFoundError}
   */
  async list(accountId: string, eventId: string, page: Page): Promise<InvitationResult[]> {
    const event = await this.events.get(accountId, eventId);
    return isId(event.id) ? this.repository.list(accountId, event.id, page) : [];
  }
}

/** True if the account is the organizer of the event. */
const isOwn = ({ email }: AccountPrincipal, organizer: string | null | undefined): boolean =>
  (organizer ?? email).toLowerCase() === email.toLowerCase();

/**
 * Splits recipients into stored parts of limited size. The recipients of a part share one mail, or
 * get one each if participants are hidden.
 */
function inParts({ kind, recipients }: PlannedInvitations, event: Event): NewInvitation[] {
  const parts: NewInvitation[] = [];
  for (let from = 0; from < recipients.length; from += MOST_TOGETHER) {
    const shared = newId();
    const toRecipient = ({ email, name }: Participant): InvitationRecipient => ({
      email,
      name,
      mailId: event.hideParticipants ? newId() : shared,
    });
    const part = recipients.slice(from, from + MOST_TOGETHER).map(toRecipient);
    parts.push({ kind, sequence: event.sequence, recipients: part });
  }
  return parts;
}

function contentOf(event: Event): InvitationContent {
  return {
    event: pickFields(event, SHOWN_FIELDS),
    participants: event.participants,
    hideParticipants: event.hideParticipants,
    zone: event.calendar.unwrap().timezone ?? 'UTC',
  };
}
