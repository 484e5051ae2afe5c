import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/audit/actor.ts';
import { recordAudit } from '../../platform/audit/record-audit.ts';
import { NotFoundError } from '../../platform/base/errors/domain-error.ts';
import { isId } from '../../platform/base/ids/ids.ts';
import type { Address } from '../../platform/base/text/address.ts';
import { Database } from '../../platform/database/sql.ts';
import { MessageParser } from '../../mail/parsing/message-parser.ts';
import type { MessagePreview } from './job-types.ts';
import type { OutboxMessage } from '../../mail/outbox/outbox-message.entity.ts';
import type { Grant } from '../../accounts/grants/grant.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

const READ = `
  select m.mime, m.account_id as "accountId", g.application_id as "applicationId"
  from outbox_message m join "grant" g on g.id = m.account_id where m.id = $1`;

/** Shows operators what a job sends. Every look is recorded in the audit log. */
@Injectable()
export class JobPreviews {
  constructor(
    private readonly database: Database,
    private readonly parser: MessageParser,
  ) {}

  /**
   * Reads the message of a job with the threads that parse mail. Its HTML is as the sender wrote
   * it: show it in a sandbox without scripts and without access to the network.
   * @throws {NotFoundError} also if the job is not about a message
   * @throws {WorkLimitError} if too much other work is waiting
   */
  async preview(actor: Actor, id: string): Promise<MessagePreview> {
    const row = isId(id) ? await this.#read(actor, id) : undefined;
    if (!row) throw new NotFoundError('message of job', id);
    const { mime, accountId } = row;
    const [read] = await this.parser.read([{ kind: 'mime', mime }], accountId, false);
    if (!read) throw new NotFoundError('message of job', id);
    const { subject, from, to, cc, body, headers, files } = read.parsed;
    return {
      id,
      subject,
      from: from.map(written),
      to: to.map(written),
      cc: cc.map(written),
      html: body,
      headers,
      attachments: files.map(({ filename, contentType }) => ({ filename, contentType })),
      bytes: mime.length,
    };
  }

  /** Records the look and reads the message, in one transaction: nobody looks without a trace. */
  #read(actor: Actor, id: string) {
    return this.database.transaction(async (sql) => {
      const [row] = await sql.query<
        RowOf<OutboxMessage, 'mime' | 'accountId'> & RowOf<Grant, 'applicationId'>
      >(READ, [id]);
      if (!row) return undefined;
      const { accountId, applicationId } = row;
      const target = { type: 'job', id };
      await recordAudit(sql, { actor, action: 'job.preview', target, applicationId, accountId });
      return row;
    });
  }
}

const written = ({ name, email }: Address): string => (name ? `${name} <${email}>` : email);
