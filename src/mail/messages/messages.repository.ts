import { AUDIT_DELETIONS } from './mirror/audited-messages.ts';
import { Injectable } from '@nestjs/common';
import type { AccountListener } from '../../accounts/grants/account-listeners.ts';
import { Conditions } from '../../platform/database/conditions.ts';
import { type Listing, type ListingQuery, runListing } from '../../platform/database/listing.ts';
import { Database, type Sql } from '../../platform/database/sql.ts';
import { findFolders } from '../folders/find-folders.ts';
import {
  CONTENT_FIELDS,
  joinContent,
  type PackedBody,
  unpackBodies,
} from './contents/read-contents.ts';
import { DELETIONS_OF_CONTENTS } from './contents/store-contents.ts';
import { MESSAGE_BYTES, MESSAGE_COLUMNS } from './filters/message-columns.ts';
import { selectMessages } from './filters/message-conditions.ts';
import { countMessages } from './filters/message-counts.ts';
import type { MessageListRequest, StoredMessage } from './filters/message-filter.ts';
import type { Message } from './message.entity.ts';
import type { RowOf, NotNull } from '../../platform/database/rows/row-of.ts';

const MESSAGES = {
  columns: MESSAGE_COLUMNS,
  bytes: MESSAGE_BYTES,
  items: {
    from: 'message m',
    // The first value of each selection of messages is the account.
    with: joinContent('$1', 'm.id'),
    fields: `m.*, ${CONTENT_FIELDS}`,
    id: 'm.id',
    orderBy: 'm.date desc, m.id desc',
  },
};

const SOURCE = `
  select provider_id as "providerId", listed from message
  where account_id = $1 and id = $2 and provider_id is not null and not deleting`;

/** Messages are deleted with their threads. */
export const MESSAGES_OF_ACCOUNT: AccountListener = {
  visibleObjects: [
    `select id, case when draft then 'draft' else 'message' end as object from message where account_id = $1 and not deleting`,
  ],
  mirrorDeletions: [...AUDIT_DELETIONS, ...DELETIONS_OF_CONTENTS],
};

/** Reads the mirror of messages. Every statement is limited to one account. */
@Injectable()
export class MessagesRepository {
  constructor(private readonly database: Database) {}

  /** Newest first. */
  async list(
    accountId: string,
    { filter, page, view }: MessageListRequest,
  ): Promise<Listing<StoredMessage>> {
    const folders = await findFolders(this.database, accountId, filter);
    const counted =
      view === 'count' ? await countMessages(this.database, accountId, filter, folders) : undefined;
    if (counted !== undefined) return { view: 'count', count: counted };
    const selection = selectMessages(accountId, filter, folders);
    // Only a statement whose single parameter is the account has a plan that suits every value, so
    // only that one is prepared.
    const prepared = selection.conditions.values.length === 1;
    return listMessages(this.database, {
      ...selection,
      page,
      view,
      prepared,
    });
  }

  async find(
    accountId: string,
    id: string,
    sql: Sql = this.database,
  ): Promise<StoredMessage | undefined> {
    return (await this.findMany(accountId, [id], sql))[0];
  }

  /**
   * Returns the messages of the account with these ids, in no particular order. Unknown ids are
   * left out.
   * @throws {PageTooLargeError}
   */
  async findMany(
    accountId: string,
    ids: readonly string[],
    sql: Sql = this.database,
  ): Promise<StoredMessage[]> {
    const conditions = new Conditions();
    conditions.add(`m.account_id = ${conditions.value(accountId)} and not m.deleting`);
    conditions.add(`m.id = any(${conditions.value(ids)}::uuid[])`);
    const page = { limit: ids.length, offset: 0 };
    const listing = await listMessages(sql, {
      from: 'message m',
      id: 'm.id',
      orderBy: 'm.id',
      conditions,
      page,
    });
    return listing.view === 'items' ? listing.items : [];
  }

  /**
   * Where the provider has a message, and whether its content is still to be fetched. `undefined`
   * if the account has no such message, or the message is not at the provider yet.
   */
  async findSource(
    accountId: string,
    id: string,
  ): Promise<{ providerId: string; listed: boolean } | undefined> {
    const [row] = await this.database.query<
      RowOf<Message, 'listed'> & NotNull<RowOf<Message, 'providerId'>>
    >(SOURCE, [accountId, id]);
    return row;
  }
}

type PackedMessage = Omit<StoredMessage, 'body'> & PackedBody;

async function listMessages(
  sql: Sql,
  query: Omit<ListingQuery, keyof typeof MESSAGES>,
): Promise<Listing<StoredMessage>> {
  const listing = await runListing<PackedMessage>(sql, { ...MESSAGES, ...query });
  if (listing.view !== 'items') return listing;
  return { view: 'items', items: await unpackBodies(listing.items) };
}
