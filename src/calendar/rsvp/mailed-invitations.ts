import { Injectable, Logger } from '@nestjs/common';
import { isId, newId } from '../../platform/base/ids/ids.ts';
import { databaseTrouble } from '../../platform/database/health/database-trouble.ts';
import { idsOf, type Sql } from '../../platform/database/sql.ts';
import type { ChangeRecord } from '../../platform/changes/change-log.ts';
import { openProviderWrites } from '../../accounts/provider-writes/provider-jobs.ts';
import { type ChangeVerb, objectChange } from '../../platform/changes/object-change.ts';
import { type ChangedEvent, eventChange } from '../events/event-changes.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import { ReminderPlanner } from '../notifications/plan/reminder-planner.ts';
import type { ItipMessage } from '../../formats/ical/itip.ts';
import { applyReply } from './mailed-reply.ts';
import { type EventOfMail, MeetingBatch, type MeetingChanges } from './meeting-batch.ts';
import { applyMail, type InvitingMail } from './meeting.ts';
import { emailedCalendar } from '../calendars/emailed-calendar.ts';
import * as mailed from '../events/mailed/mailed-events.ts';
import { lockStates, storeStates } from './meeting-states.sql.ts';

/** The fields of a newly mirrored message that matter for invitations. */
export interface MirroredMail {
  id: string;
  draft: boolean;
  author: string | null;
  remote: { folderIds: readonly string[]; receivedAt: Date };
  itip?: ItipMessage[];
}

/** The account whose mail is mirrored. */
export interface MailOwner {
  account: { accountId: string; applicationId: string; email: string; provider: string };
  /**
   * Mail received before this time leads to no notifications of subscribers. `null` to notify them
   * about all mail.
   */
  newsSince: Date | null;
  at: Date;
}

/** Provider ids of the folders whose mail is ignored. */
export interface IgnoredFolders {
  sent: string | undefined;
  spam: string | undefined;
  trash: string | undefined;
}

/** Results of the invitations in a batch of mails. */
export interface AppliedInvitations {
  /** Change log records for what has changed. */
  changes: ChangeRecord[];
  /** Which events came with which mails. */
  events: EventOfMail[];
}

const NOTHING: AppliedInvitations = { changes: [], events: [] };

/** A mail with one of its scheduling messages. `isNews` is true if subscribers are notified. */
interface MeetingMail {
  mail: InvitingMail;
  message: ItipMessage;
  isNews: boolean;
}

/** Turns invitations in mail into events and updates them from later mail (ADR 0044). */
@Injectable()
export class MailedInvitations {
  readonly #log = new Logger(MailedInvitations.name);

  constructor(
    private readonly planner: ReminderPlanner,
    private readonly connectors: ConnectorRegistry,
  ) {}

  /**
   * Applies the invitations in a batch of mails. Call it after the mails are stored, in the same
   * transaction. Sends no statement if no mail in the batch is about a meeting. Drafts, sent mail,
   * spam and trash are ignored. If the provider puts invitations and answers into the account's
   * calendar itself, mails only get linked to its events.
   *
   * If an invitation cannot be applied, the error is logged and its mail changes no event. The
   * other mails of the batch are applied one by one. All mails stay stored.
   * @param added mails, oldest first
   * @throws the driver's error if the database is unavailable or overloaded
   */
  async applyBatch(
    sql: Sql,
    owner: MailOwner,
    added: readonly MirroredMail[],
    ignored: IgnoredFolders,
  ): Promise<AppliedInvitations> {
    const mails = meetingMailsOf(added, owner, Object.values(ignored));
    if (mails.length === 0) return NOTHING;
    const together = await this.#tryMails(sql, owner, mails);
    if (together) return together;
    const single = Map.groupBy(mails, ({ mail }) => mail.messageId);
    if (single.size === 1) return NOTHING;
    const all: AppliedInvitations = { changes: [], events: [] };
    for (const one of single.values()) {
      const applied = await this.#tryMails(sql, owner, one);
      all.changes.push(...(applied?.changes ?? []));
      all.events.push(...(applied?.events ?? []));
    }
    return all;
  }

  /** @returns `null` if the mails cannot be applied; they have changed nothing then */
  async #tryMails(
    sql: Sql,
    owner: MailOwner,
    mails: readonly MeetingMail[],
  ): Promise<AppliedInvitations | null> {
    await sql.query('savepoint invitations');
    try {
      const applied = await this.#applyMails(sql, owner, mails);
      await sql.query('release savepoint invitations');
      return applied;
    } catch (error) {
      if (databaseTrouble(error) !== null) throw error;
      await sql.query('rollback to savepoint invitations');
      this.#log.error(error);
      return null;
    }
  }

  async #applyMails(
    sql: Sql,
    owner: MailOwner,
    mails: readonly MeetingMail[],
  ): Promise<AppliedInvitations> {
    const { accountId } = owner.account;
    const own = owner.account.email.toLowerCase();
    const uids = [...new Set(mails.map(({ message }) => message.uid))];
    const lock = () => mailed.lockMailedEvents(sql, accountId, uids, uids.filter(isId));
    const locked = await lock();
    // A request that creates an instance locks its series first. The first statement may have
    // waited for that lock, and then does not see the new instance.
    const events = mails.some(isAboutInstance) ? await lock() : locked;
    const keys = [...new Set(mails.flatMap(({ message }) => MeetingBatch.keysOf(own, message)))];
    const states = await lockStates(sql, accountId, keys);
    const isHosted = this.connectors.participantMail(owner.account.provider) !== 'never';
    const batch = new MeetingBatch(own, events, states, isHosted);
    for (const { mail, message, isNews } of mails) {
      if (message.method === 'reply' && isHosted) continue;
      if (message.method === 'reply') applyReply(batch, mail, message, isNews);
      else
        for (const meeting of batch.meetingsOf(message, isNews))
          batch.addContained(mail.messageId, applyMail(meeting, mail, message));
    }
    return {
      changes: await this.#write(sql, owner, batch),
      events: batch.eventsOfMails(),
    };
  }

  async #write(sql: Sql, owner: MailOwner, batch: MeetingBatch): Promise<ChangeRecord[]> {
    const { account, at } = owner;
    const { accountId } = account;
    const { created, changed, links, removed, answered } = batch.changes();
    const calendar = created.length > 0 ? await emailedCalendar(sql, accountId, at) : null;
    if (calendar) await mailed.insertMailedEvents(sql, accountId, calendar.id, created, at);
    await mailed.updateMailedEvents(
      sql,
      changed.map(({ event }) => event),
      at,
    );
    await mailed.linkEvents(sql, links);
    await mailed.removeEvents(sql, idsOf(removed));
    await this.#storeAnswers(sql, owner, answered);
    await storeStates(sql, accountId, batch.states());
    const added = (id: string, isNews: boolean) =>
      objectChange(
        'calendar',
        { ...account, at },
        id,
        'created',
        isNews ? { dedupe: `calendar:${id}:created`, metadata: {} } : null,
      );
    const record = (event: ChangedEvent, verb: ChangeVerb, isNews: boolean) =>
      eventChange(
        { ...account, at },
        { metadata: {}, ...event },
        verb,
        isNews ? `event:${event.id}:${verb}:${newId()}` : null,
      );
    return [
      ...(calendar?.created
        ? [
            added(
              calendar.id,
              created.some(({ isNews }) => isNews),
            ),
          ]
        : []),
      ...created.map(({ event: { id }, isNews }) =>
        record({ id, calendarId: calendar?.id ?? '' }, 'created', isNews),
      ),
      ...changed.map(({ event: { id }, verb, calendarId, isNews }) =>
        record({ id, calendarId }, verb, isNews),
      ),
      ...links.map((event) => record(event, 'updated', false)),
      ...removed.map(({ isNews, ...event }) => record(event, 'deleted', isNews)),
      ...answered.map(({ event, isNews }) =>
        record(event, 'described' in event ? 'created' : 'updated', isNews),
      ),
    ];
  }

  /**
   * Stores the answers to meetings that the account organizes, and queues provider writes for them.
   */
  async #storeAnswers(
    sql: Sql,
    { account: { accountId }, at }: MailOwner,
    answered: MeetingChanges['answered'],
  ): Promise<void> {
    if (answered.length === 0) return;
    const created = answered.flatMap(({ event }) => ('described' in event ? [event] : []));
    await mailed.insertInstances(sql, accountId, created, at);
    for (const { event } of answered) {
      if ('described' in event) continue;
      const { id: eventId, notifications } = event;
      const { title, startsAt, participants } = event.fields;
      await mailed.writeParticipants(sql, eventId, participants, at);
      if (notifications.length === 0) continue;
      const plan = {
        accountId,
        eventId,
        title,
        startsAt,
        notifications,
        participants,
        cancelled: false,
      };
      await this.planner.plan(sql, plan, at);
    }
    await openProviderWrites(
      sql,
      answered.map(({ event: { id: objectId } }) => {
        return { id: newId(), accountId, action: 'update_event', object: 'event', objectId, at };
      }),
    );
  }
}

/** Whether a mail may answer for one instance of a series. */
const isAboutInstance = ({ message: { method, events } }: MeetingMail): boolean =>
  method === 'reply' && events.some(({ instance }) => instance !== null);

/**
 * The scheduling messages in mails, in their order. Mail from the account itself is ignored,
 * because it is a copy of what the account has sent.
 */
function meetingMailsOf(
  added: readonly MirroredMail[],
  { account, newsSince }: MailOwner,
  ignored: readonly (string | undefined)[],
): MeetingMail[] {
  const own = account.email.toLowerCase();
  return added.flatMap(({ id, draft, author, remote, itip = [] }) => {
    if (itip.length === 0 || draft || remote.folderIds.some((folder) => ignored.includes(folder)))
      return [];
    if (author === own) return [];
    const mail = { messageId: id, sender: author, account: own };
    const isNews = newsSince === null || remote.receivedAt >= newsSince;
    return itip.map((message) => ({ mail, message, isNews }));
  });
}
