import { Injectable } from '@nestjs/common';
import { Database } from '../database/sql.ts';
import type { DraftVersion } from '../drafts/sent-drafts.ts';
import {
  ACCOUNT_COLUMNS,
  type AccountRow,
  type ConnectedAccount,
  ProviderAccounts,
} from '../grants/provider-accounts.ts';
import type { JobState } from '../job-statuses/job-status.ts';
import type { RefusedRecipient } from '../providers/provider-error.ts';
import type { OutgoingContent } from '../send/outgoing-content.ts';
import type { OnMissed, OnUnknown } from './outbox-content.ts';

/** A message as the sender needs it, with its account. */
export interface StoredMessage {
  id: string;
  status: JobState;
  envelope: { from: string; recipients: readonly string[] };
  bcc: OutgoingContent['bcc'];
  /** The draft it was; null: none. */
  draft: DraftVersion | null;
  messageIdHeader: string;
  /** Null where it is a long one: `StoredMessages.mime` has it. */
  mime: Buffer | null;
  /** Who has accepted it, and who has refused it for good. */
  accepted: readonly string[];
  refused: readonly RefusedRecipient[];
  onMissed: OnMissed;
  maxLatenessSeconds: number | null;
  /** Null: the server's default. */
  onUnknown: OnUnknown | null;
  account: ConnectedAccount;
}

type Row = Omit<StoredMessage, 'account'> & AccountRow;

/** Messages asked for in one query: with the most bytes of each that is 12 MB, however long they are. */
const MOST_TOGETHER = 50;
const MOST_BYTES = 256 * 1024;

const LOAD = `
  select m.id, s.status, m.envelope, m.bcc, m.draft, m.message_id_header as "messageIdHeader",
    case when octet_length(m.mime) <= ${MOST_BYTES} then m.mime end as mime, m.accepted, m.refused,
    m.on_missed as "onMissed", m.max_lateness_seconds as "maxLatenessSeconds", m.on_unknown as "onUnknown",
    ${ACCOUNT_COLUMNS}
  from unnest($1::uuid[], $2::uuid[]) j(id, account_id)
  join outbox_message m on m.id = j.id and m.account_id = j.account_id
  join job_status s on s.id = m.id
  join "grant" g on g.id = m.account_id`;

const MIME = 'select mime from outbox_message where id = $1 and account_id = $2';

interface Wanted {
  id: string;
  accountId: string;
  resolve: (message: StoredMessage | undefined) => void;
  reject: (error: unknown) => void;
}

/** Loads what is to be sent: messages that are claimed together in one query. */
@Injectable()
export class StoredMessages {
  #wanted: Wanted[] = [];
  #long: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly database: Database,
    private readonly accounts: ProviderAccounts,
  ) {}

  /** @returns undefined when the message or its account is gone */
  find(accountId: string, id: string): Promise<StoredMessage | undefined> {
    return new Promise((resolve, reject) => {
      // Whatever asks before the present piece of work ends goes along.
      if (this.#wanted.length === 0) queueMicrotask(() => this.#loadAll());
      this.#wanted.push({ id, accountId, resolve, reject });
    });
  }

  /**
   * The MIME text; long ones are fetched when they are about to be sent, one after the other: on their way from the
   * database they take several times their length.
   * @returns undefined when the message is gone
   */
  mime({ id, mime, account }: StoredMessage): Promise<Buffer | undefined> {
    if (mime) return Promise.resolve(mime);
    const fetched = this.#long.then(async () => {
      const [row] = await this.database.query<{ mime: Buffer }>(MIME, [id, account.accountId]);
      return row?.mime;
    });
    // Whoever asked is told of an error; the next one's turn comes all the same.
    this.#long = fetched.catch(() => undefined);
    return fetched;
  }

  #loadAll(): void {
    const wanted = this.#wanted;
    this.#wanted = [];
    for (let from = 0; from < wanted.length; from += MOST_TOGETHER) {
      void this.#load(wanted.slice(from, from + MOST_TOGETHER));
    }
  }

  async #load(wanted: readonly Wanted[]): Promise<void> {
    const rows = new Map<string, Row>();
    try {
      const ids = wanted.map(({ id }) => id);
      const accountIds = wanted.map(({ accountId }) => accountId);
      for (const row of await this.database.query<Row>(LOAD, [ids, accountIds])) rows.set(row.id, row);
    } catch (error) {
      for (const { reject } of wanted) reject(error);
      return;
    }
    for (const { id, resolve, reject } of wanted) {
      try {
        const row = rows.get(id);
        resolve(row && Object.assign(row, { account: this.accounts.open(row) }));
      } catch (error) {
        // Credentials that do not open are this account's trouble alone.
        reject(error);
      }
    }
  }
}
