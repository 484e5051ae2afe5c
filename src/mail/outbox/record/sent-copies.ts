import { Injectable, type OnModuleInit } from '@nestjs/common';
import { newId } from '../../../platform/base/ids/ids.ts';
import { openingProviderWrites } from '../../../accounts/provider-writes/provider-jobs.ts';
import { withBcc } from '../../../formats/mime/with-bcc.ts';
import { Database, idsOf, type Sql } from '../../../platform/database/sql.ts';
import {
  type ProviderWriteHandler,
  ProviderWrites,
} from '../../../accounts/provider-writes/provider-writes.ts';
import { removeUnreported } from '../../messages/mirror/unreported-messages.ts';
import { forgetMessageOfJob } from '../../../job-statuses/jobs.ts';
import type { MailPort } from '../../../providers/port/connector.ts';
import { currentTraceparent } from '../../../platform/tracing/traceparent.ts';
import { wakeAfterCommit } from '../../../platform/work/signals.ts';
import type { OutboxMessage } from '../outbox-message.entity.ts';
import type { JobStatus } from '../../../job-statuses/job-status.entity.ts';
import type { RowOf } from '../../../platform/database/rows/row-of.ts';

/** Payload of a job `save_sent_email`. */
interface Payload {
  /** Id of the outbox message. */
  outboxId: string;
}

interface SentMessage
  extends RowOf<OutboxMessage, 'mime' | 'messageIdHeader'>, RowOf<JobStatus, 'route'> {
  bcc: { email: string }[];
}

const READ = `
  select o.mime, o.message_id_header as "messageIdHeader", o.bcc, s.route
  from outbox_message o join job_status s using (id) where o.id = $1 and o.account_id = $2`;

/**
 * Files the sender's own copies of sent messages, for providers and mailing services that do not do
 * so.
 */
@Injectable()
export class SentCopies implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly writes: ProviderWrites,
  ) {}

  onModuleInit(): void {
    // Without a copy, the ids that were announced for the message lead nowhere.
    this.writes.register('save_sent_email', 'mail', this.#file, {
      failed: async (sql, { accountId, objectId, payload }, at) => {
        await removeUnreported(sql, objectId, at);
        await forgetMessageOfJob(sql, accountId, (payload as unknown as Payload).outboxId);
      },
    });
  }

  readonly #file: ProviderWriteHandler<MailPort> = async (port, account, write) => {
    const { outboxId } = write.payload as unknown as Payload;
    const [message] = await this.database.query<SentMessage>(READ, [outboxId, account.accountId]);
    if (!message) return { kind: 'superseded', reason: 'The message was deleted' };
    const file = message.route === 'relay' ? port.fileRelayed : port.fileSent;
    await file?.call(port, account, message.messageIdHeader, withBcc(message.mime, message.bcc));
    return { kind: 'written' };
  };
}

// The mirrored copy gets the id that was announced for the message, so the job refers to that id.
const OPEN = openingProviderWrites(`
  select x.job_id as id, s.account_id, 'save_sent_email' as action, 'message' as object, s.message_id as object_id,
    jsonb_build_object('outboxId', s.id) as payload, $3::timestamptz as at, x.traceparent
  from unnest($1::uuid[], $2::uuid[], $4::text[]) x(outbox_id, job_id, traceparent) join job_status s on s.id = x.outbox_id
  where s.message_id is not null`);

/**
 * Opens the jobs that file copies of sent messages, in the caller's transaction.
 * @param sent ids of outbox messages, each with the span of its attempt
 */
export async function openSentCopies(
  sql: Sql,
  sent: readonly { id: string; traceparent: string | null | undefined }[],
  at: Date,
): Promise<void> {
  if (sent.length === 0) return;
  await sql.query(OPEN, [
    idsOf(sent),
    sent.map(() => newId()),
    at,
    sent.map(({ traceparent }) => traceparent ?? currentTraceparent()),
  ]);
  wakeAfterCommit(sql, 'provider');
}
