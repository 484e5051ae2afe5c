import { Injectable, type OnModuleInit } from '@nestjs/common';
import { ProviderAccounts } from '../accounts/grants/provider-accounts.ts';
import { type JustSent, SentMirror, type SentMessageStore } from '../mail/outbox/sent-mirror.ts';
import { BatchStore } from './batch-store.ts';
import { FolderMirror } from './folder-mirror.ts';
import { MessageReader } from './message-reader.ts';

/** Adds sent messages to the mirror, in the process of the request that sent them. */
@Injectable()
export class SentMessages implements SentMessageStore, OnModuleInit {
  constructor(
    private readonly accounts: ProviderAccounts,
    private readonly folders: FolderMirror,
    private readonly reader: MessageReader,
    private readonly batches: BatchStore,
    private readonly port: SentMirror,
  ) {}

  onModuleInit(): void {
    this.port.use(this);
  }

  async add({ accountId, messageId, mime, at }: JustSent): Promise<void> {
    const folders = await this.folders.standard(accountId);
    const account = folders.sent === undefined ? undefined : await this.accounts.find(accountId);
    if (!account || folders.sent === undefined) return;
    const content = { kind: 'mime', mime } as const;
    const providerId = unreported(messageId);
    const { parsed } = await this.reader.read([{ providerId, content }], accountId, false);
    const remote = {
      providerId,
      folderIds: [folders.sent],
      receivedAt: at,
      unread: false,
      starred: false,
      content,
    };
    const incoming = [{ remote, parsed: parsed.get(providerId) ?? null }];
    await this.batches.addSent(account, incoming, folders);
  }
}

/** Stands for the provider's id until the message is stored. No provider has such an id. */
const unreported = (messageId: string): string => `sent:${messageId}`;
