import { Injectable } from '@nestjs/common';
import type { Address } from '../../platform/base/text/address.ts';
import { newId } from '../../platform/base/ids/ids.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { type NewOutboxMessage, OutboxService } from '../../mail/outbox/outbox.service.ts';
import { compose } from '../../formats/mime/compose.ts';
import { ownAddress } from '../../mail/composing/outgoing-content.ts';
import { OutgoingMessages } from '../../mail/composing/outgoing-messages.ts';

/** How long the outbox retries these mails: 24 hours, its own default. */
const RETRY_MS = 24 * 3_600_000;
const MOST_SUBJECT = 200;

/** A scheduling message to be sent. */
export interface SchedulingMail {
  /** Id of the mail in the outbox and of its job status. */
  id: string;
  account: { accountId: string; email: string; name: string };
  to: readonly Address[];
  /**
   * The human-readable part. White space in the subject is collapsed, and a long subject is
   * shortened.
   */
  words: { subject: string; html: string; text: string };
  /** METHOD of the calendar file (RFC 5546 3.2), upper case. */
  method: string;
  ics: string;
  at: Date;
}

/**
 * Composes and queues all mails about meetings (RFC 6047): invitations, cancellations and
 * responses.
 */
@Injectable()
export class SchedulingMails {
  constructor(
    private readonly outgoing: OutgoingMessages,
    private readonly outbox: OutboxService,
  ) {}

  /**
   * Composes the mail for the outbox: sent from the account and retried for 24 hours. Stores
   * nothing.
   */
  async compose({
    id,
    account,
    to,
    words,
    method,
    ics,
    at,
  }: SchedulingMail): Promise<NewOutboxMessage> {
    const from = ownAddress(account);
    const subject = words.subject.replaceAll(/\s+/g, ' ').slice(0, MOST_SUBJECT).toWellFormed();
    const messageIdHeader = this.outgoing.newMessageIdHeader(id);
    const parties = { to: [...to], cc: [], bcc: [] };
    const mime = await compose({
      ...parties,
      from,
      replyTo: [],
      subject,
      html: words.html,
      text: words.text,
      messageIdHeader,
      date: at,
      calendar: { method, ics },
      // Suppresses out-of-office replies (RFC 3834).
      headers: { 'Auto-Submitted': 'auto-generated' },
    });
    return {
      id,
      accountId: account.accountId,
      messageIdHeader,
      messageId: newId(),
      threadId: newId(),
      content: { ...parties, from: [from], reply_to: [], subject, body: words.html },
      envelope: { from: account.email, recipients: to.map(({ email }) => email) },
      mime,
      at,
      sendAt: at,
      retryLimitAt: new Date(at.getTime() + RETRY_MS),
      onMissed: 'send',
      maxLatenessSeconds: null,
      onUnknown: null,
    };
  }

  /** Adds the mails to the outbox, in the caller's transaction. */
  async accept(sql: Sql, mails: readonly NewOutboxMessage[]): Promise<void> {
    await this.outbox.acceptInvitations(sql, mails);
  }
}
