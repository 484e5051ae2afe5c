import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { InvalidInputError, NotFoundError } from '../../platform/base/errors/domain-error.ts';
import { isId } from '../../platform/base/ids/ids.ts';
import type { Listing } from '../../platform/database/listing.ts';
import { ReadDatabase } from '../../platform/database/replicas/read-database.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { ListedContents } from '../listed-contents/listed-contents.ts';
import { MessageEvents } from '../message-events/message-events.ts';
import { ProviderAccounts } from '../../accounts/grants/provider-accounts.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { providerFailure } from '../../providers/port/provider-failure.ts';
import type { MessageListRequest, MessageRecord, StoredMessage } from './filters/message-filter.ts';
import { MessagesRepository, type PackedMessage } from './messages.repository.ts';

/** Maximum number of ids in one path. */
const MOST_IDS = 100;

/**
 * Reads messages of an account from the mirror. Only raw messages, and listed messages that are
 * requested by their ids, are read from the provider.
 */
@Injectable()
export class MessagesService {
  constructor(
    private readonly repository: MessagesRepository,
    private readonly reads: ReadDatabase,
    private readonly events: MessageEvents,
    private readonly listed: ListedContents,
    private readonly accounts: ProviderAccounts,
    private readonly connectors: ConnectorRegistry,
  ) {}

  /**
   * Newest first.
   * @throws {PageTooLargeError}
   */
  async list(
    account: AccountPrincipal,
    request: MessageListRequest,
  ): Promise<Listing<MessageRecord>> {
    const listing = await this.repository.list(account.accountId, request);
    if (listing.view !== 'items') return listing;
    return { view: 'items', items: await this.#withEvents(account, listing.items) };
  }

  /**
   * @param sql where to read; default: the primary
   * @returns `undefined` if the account has no such message
   */
  async find(account: AccountPrincipal, id: string, sql?: Sql): Promise<MessageRecord | undefined> {
    const message = await this.repository.find(account.accountId, id, sql);
    return message && (await this.#withEvents(account, [message]))[0];
  }

  /**
   * Reads a message in a transaction. Call `unpack` after the transaction, because its body may be
   * in the object store.
   * @returns `undefined` if the account has no such message
   */
  findPacked(sql: Sql, account: AccountPrincipal, id: string): Promise<PackedMessage | undefined> {
    return this.repository.findPacked(sql, account.accountId, id);
  }

  /** Reads what a packed message lacks: its body, and the events that came with it. */
  async unpack(
    account: AccountPrincipal,
    message: PackedMessage,
  ): Promise<MessageRecord | undefined> {
    return (await this.#withEvents(account, await this.repository.unpack([message])))[0];
  }

  /**
   * The message with its content, which is fetched if the mirror only lists the message.
   * @throws {NotFoundError} also if the provider no longer has a listed message
   * @throws {DomainError} if the provider cannot deliver a listed message now
   */
  async get(account: AccountPrincipal, id: string): Promise<MessageRecord> {
    const message = isId(id) ? await this.findComplete(account, id, this.reads) : undefined;
    if (!message) throw new NotFoundError('message', id);
    return message;
  }

  /**
   * As `get`, also for drafts.
   * @param sql where to read; default: the primary
   * @returns `undefined` if the account has no such message, or the provider no longer has it
   */
  async findComplete(
    account: AccountPrincipal,
    id: string,
    sql?: Sql,
  ): Promise<MessageRecord | undefined> {
    const message = await this.find(account, id, sql);
    if (!message?.listed) return message;
    await this.listed.complete(account.accountId, [id]);
    const completed = await this.find(account, id, sql);
    return completed?.listed ? undefined : completed;
  }

  /**
   * Returns the messages of the account with these ids, in the order of `ids`. Unknown ids are left
   * out.
   * @param sql where to read; default: the primary
   * @throws {PageTooLargeError}
   */
  async findMany(
    account: AccountPrincipal,
    ids: readonly string[],
    sql?: Sql,
  ): Promise<MessageRecord[]> {
    if (ids.length === 0) return [];
    const messages = await this.#withEvents(
      account,
      await this.repository.findMany(account.accountId, ids, sql),
    );
    const found = new Map(messages.map((message) => [message.id, message]));
    return ids.flatMap((id) => found.get(id) ?? []);
  }

  /**
   * Returns several messages with their contents, without duplicates and in the order of `ids`.
   * @throws {NotFoundError} if one of them does not exist, or `ids` is empty
   * @throws {DomainError} if the provider cannot deliver a listed message now
   * @throws {InvalidInputError} if there are too many ids
   */
  async getMany(account: AccountPrincipal, ids: readonly string[]): Promise<MessageRecord[]> {
    if (ids.length === 0) throw new NotFoundError('message', '');
    if (ids.length > MOST_IDS)
      throw new InvalidInputError(`id: must not be more than ${MOST_IDS} ids`);
    const unknown = ids.find((id) => !isId(id));
    if (unknown !== undefined) throw new NotFoundError('message', unknown);
    const wanted = [...new Set(ids.map((id) => id.toLowerCase()))];
    const messages = await this.#completed(
      account,
      await this.findMany(account, wanted, this.reads),
    );
    const found = new Set(messages.map(({ id }) => id));
    const missing = wanted.find((id) => !found.has(id));
    if (missing !== undefined) throw new NotFoundError('message', missing);
    return messages;
  }

  /** Completes listed messages. Those that the provider no longer has are left out. */
  async #completed(account: AccountPrincipal, messages: MessageRecord[]): Promise<MessageRecord[]> {
    const listed = messages.filter((message) => message.listed).map(({ id }) => id);
    if (listed.length === 0) return messages;
    await this.listed.complete(account.accountId, listed);
    const read = await this.findMany(account, listed, this.reads);
    const completed = new Map(read.map((message) => [message.id, message]));
    return messages
      .map((message) => completed.get(message.id) ?? message)
      .filter((message) => !message.listed);
  }

  #withEvents(
    account: AccountPrincipal,
    messages: readonly StoredMessage[],
  ): Promise<MessageRecord[]> {
    return this.events.addTo(account, messages, { isOneItem: messages.length === 1 });
  }

  /**
   * The message as the provider stores it (RFC 5322).
   * @throws {NotFoundError} also if the provider no longer has it
   * @throws {DomainError} if the provider cannot deliver it now
   */
  async raw(principal: AccountPrincipal, id: string): Promise<Buffer> {
    if (!isId(id)) throw new NotFoundError('message', id);
    const { accountId } = principal;
    const [found, account] = await Promise.all([
      this.repository.findSource(accountId, id),
      this.accounts.find(accountId),
    ]);
    const sent = found ? null : await this.listed.unreported(accountId, id);
    if (sent) return sent;
    // A sync pass may have found the message at the provider meanwhile.
    const source = found ?? (await this.repository.findSource(accountId, id));
    if (!source || !account) throw new NotFoundError('message', id);
    try {
      const mail = this.connectors.requireMail(account.provider);
      const mime = await mail.fetchRaw(account, source.providerId);
      if (source.listed) await this.listed.keep(accountId, id, mime);
      return mime;
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      if (error.code === 'not-found') throw new NotFoundError('message', id);
      throw providerFailure(error, 'return the message');
    }
  }
}
