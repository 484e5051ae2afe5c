import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { InvalidInputError, NotFoundError } from '../../platform/base/errors/domain-error.ts';
import { isId } from '../../platform/base/ids/ids.ts';
import type { Listing } from '../../platform/database/listing.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { MessageEvents } from '../message-events/message-events.ts';
import { ProviderAccounts } from '../../accounts/grants/provider-accounts.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { providerFailure } from '../../providers/port/provider-failure.ts';
import type { MessageListRequest, MessageRecord, StoredMessage } from './message-filter.ts';
import { MessagesRepository } from './messages.repository.ts';

/** Maximum number of ids in one path. */
const MOST_IDS = 100;

/** Reads messages of an account from the mirror. Only raw messages are read from the provider. */
@Injectable()
export class MessagesService {
  constructor(
    private readonly repository: MessagesRepository,
    private readonly events: MessageEvents,
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
   * @param sql a transaction to read in
   * @returns `undefined` if the account has no such message
   */
  async find(account: AccountPrincipal, id: string, sql?: Sql): Promise<MessageRecord | undefined> {
    const message = await this.repository.find(account.accountId, id, sql);
    return message && (await this.#withEvents(account, [message]))[0];
  }

  /** @throws {NotFoundError} */
  async get(account: AccountPrincipal, id: string): Promise<MessageRecord> {
    const message = isId(id) ? await this.find(account, id) : undefined;
    if (!message) throw new NotFoundError('message', id);
    return message;
  }

  /**
   * Returns the messages of the account with these ids, in the order of `ids`. Unknown ids are left
   * out.
   * @throws {PageTooLargeError}
   */
  async findMany(account: AccountPrincipal, ids: readonly string[]): Promise<MessageRecord[]> {
    if (ids.length === 0) return [];
    const messages = await this.#withEvents(
      account,
      await this.repository.findMany(account.accountId, ids),
    );
    const found = new Map(messages.map((message) => [message.id, message]));
    return ids.flatMap((id) => found.get(id) ?? []);
  }

  /**
   * Returns several messages without duplicates, in the order of `ids`.
   * @throws {NotFoundError} if one of them does not exist, or `ids` is empty
   * @throws {InvalidInputError} if there are too many ids
   */
  async getMany(account: AccountPrincipal, ids: readonly string[]): Promise<MessageRecord[]> {
    if (ids.length === 0) throw new NotFoundError('message', '');
    if (ids.length > MOST_IDS)
      throw new InvalidInputError(`id: must not be more than ${MOST_IDS} ids`);
    const unknown = ids.find((id) => !isId(id));
    if (unknown !== undefined) throw new NotFoundError('message', unknown);
    const wanted = [...new Set(ids.map((id) => id.toLowerCase()))];
    const messages = await this.findMany(account, wanted);
    const found = new Set(messages.map(({ id }) => id));
    const missing = wanted.find((id) => !found.has(id));
    if (missing !== undefined) throw new NotFoundError('message', missing);
    return messages;
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
    const [providerId, account] = await Promise.all([
      isId(id) ? this.repository.findProviderId(principal.accountId, id) : undefined,
      this.accounts.find(principal.accountId),
    ]);
    if (providerId === undefined || !account) throw new NotFoundError('message', id);
    try {
      return await this.connectors.requireMail(account.provider).fetchRaw(account, providerId);
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      if (error.code === 'not-found') throw new NotFoundError('message', id);
      throw providerFailure(error, 'return the message');
    }
  }
}
