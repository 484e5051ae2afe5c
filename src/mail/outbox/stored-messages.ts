import { Injectable } from '@nestjs/common';
import type { LoadingLease, RowLoading } from '../../platform/work/dispatcher.ts';
import { Database } from '../../platform/database/sql.ts';
import type { DraftVersion } from '../drafts/sent-drafts.ts';
import {
  ACCOUNT_COLUMNS,
  type AccountRow,
  type ConnectedAccount,
  ProviderAccounts,
} from '../../accounts/grants/provider-accounts.ts';
import type { JobState } from '../../platform/job-statuses/job-status.ts';
import type { RefusedRecipient } from '../../platform/base/errors/provider-error.ts';
import type { OutgoingContent } from '../composing/outgoing-content.ts';
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
  /** Of the MIME text. */
  bytes: number;
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

/** Longer ones are fetched one by one: a hundred are loaded at a time, which is 13 MB at most. */
const MOST_BYTES = 128 * 1024;
const IS_SHORT = `octet_length(m.mime) <= ${MOST_BYTES}`;

/** What it takes to send a row of `send_job`. What has to be decided or fetched first is not handed off before that. */
export const MESSAGE_LOADING: RowLoading = {
  columns: `
    s.status, m.envelope, m.bcc, m.draft, m.message_id_header as "messageIdHeader",
    case when ${IS_SHORT} then m.mime end as mime, octet_length(m.mime) as bytes, m.accepted, m.refused,
    m.on_missed as "onMissed", m.max_lateness_seconds as "maxLatenessSeconds", m.on_unknown as "onUnknown",
    ${ACCOUNT_COLUMNS}`,
  joins: `
    join outbox_message m on m.id = j.id and m.account_id = j.account_id
    join job_status s on s.id = j.id
    join "grant" g on g.id = j.account_id`,
  ready: `${IS_SHORT} and s.status in ('pending', 'delayed') and g.status <> 'invalid' and m.on_missed = 'send' and not j.held`,
};

const MIME = 'select mime from outbox_message where id = $1 and account_id = $2';

/** Loads what is to be sent. */
@Injectable()
export class StoredMessages {
  #long: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly database: Database,
    private readonly accounts: ProviderAccounts,
  ) {}

  /**
   * @param ready whether it may be handed off with it, as of `LoadingLease.load`
   * @returns undefined when the message or its account is gone
   * @throws when the account's credentials do not open; as `LoadingLease.load`
   */
  async find(lease: LoadingLease, ready: boolean): Promise<StoredMessage | undefined> {
    const row = await lease.load<Row>(ready);
    return row && Object.assign(row, { account: this.accounts.open(row) });
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
}
