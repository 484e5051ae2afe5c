import { Injectable, type OnModuleInit } from '@nestjs/common';
import {
  type ConnectedAccount,
  ProviderAccounts,
} from '../../accounts/grants/provider-accounts.ts';
import { type ContentSource, ListedContents } from '../../mail/listed-contents/listed-contents.ts';
import { listedAmong, type ListedMessage } from '../../mail/messages/listed-messages.ts';
import { textOfUnreported } from '../../mail/outbox/sent-by-us.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { Database } from '../../platform/database/sql.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import type { FailedMessage } from '../../providers/port/connector.ts';
import { failuresOf, type FetchedMessages } from './fetched-messages.ts';
import { ListedMessages } from './listed-messages.ts';
import { MessageReader } from './message-reader.ts';
import { MirrorRepository } from '../mirror.repository.ts';

/** Most messages that are requested from a provider at once. */
const MOST_IDS = 100;
/** Seconds after which a request may be repeated if the provider has returned no reason to wait. */
const RETRY_AFTER_SECONDS = 10;

/** Completes listed messages that requests need, in the process of the request. */
@Injectable()
export class RequestedContents implements ContentSource, OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly repository: MirrorRepository,
    private readonly accounts: ProviderAccounts,
    private readonly connectors: ConnectorRegistry,
    private readonly reader: MessageReader,
    private readonly listed: ListedMessages,
    private readonly port: ListedContents,
  ) {}

  onModuleInit(): void {
    this.port.use(this);
  }

  async complete(accountId: string, messageIds: readonly string[]): Promise<void> {
    const left = await listedAmong(this.database, accountId, messageIds);
    const account = left.length === 0 ? undefined : await this.accounts.find(accountId);
    if (!account) return;
    const mail = this.connectors.requireMail(account.provider);
    for (let from = 0; mail.readMessages && from < left.length; from += MOST_IDS) {
      const some = left.slice(from, from + MOST_IDS);
      const providerIds = some.map(({ providerId }) => providerId);
      const request = { providerIds, content: true, priority: 'interactive' } as const;
      const fetched = await mail.readMessages(account, request);
      const refused = await this.#store(account, some, fetched);
      const [failed] = [...failuresOf(fetched), ...refused];
      if (failed) throw new ProviderError('temporary', failed.reason);
      if (!providerIds.every((id) => fetched.has(id)))
        throw new ProviderError('rate-limited', 'the mailbox can be read further in a moment', {
          retryAfterSeconds: RETRY_AFTER_SECONDS,
        });
    }
  }

  async keep(accountId: string, messageId: string, mime: Buffer): Promise<void> {
    const [message] = await listedAmong(this.database, accountId, [messageId]);
    const account = message && (await this.accounts.find(accountId));
    if (!account) return;
    const read = { state: null, content: { kind: 'mime', mime } } as const;
    await this.#store(account, [message], new Map([[message.providerId, read]]));
  }

  unreported(accountId: string, messageId: string): Promise<Buffer | null> {
    return textOfUnreported(this.database, accountId, messageId);
  }

  async #store(
    account: ConnectedAccount,
    requested: readonly ListedMessage[],
    fetched: FetchedMessages,
  ): Promise<FailedMessage[]> {
    const { accountId } = account;
    const prepared = await this.listed.prepare(account, requested, fetched, (messages) =>
      this.reader.read(messages, accountId, false),
    );
    return this.listed.store(account, prepared, (work) =>
      this.repository.withMailbox(accountId, work),
    );
  }
}
