import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { ProviderAccounts } from '../../accounts/grants/provider-accounts.ts';
import {
  type JustSent,
  SentMirror,
  type SentMessageStore,
} from '../../mail/outbox/record/sent-mirror.ts';
import { Database } from '../../platform/database/sql.ts';
import { hasOlderWorkers } from '../../platform/work/workers/older-workers.ts';
import { BatchStore } from './batch-store.ts';
import { FolderMirror } from '../folders/folder-mirror.ts';
import { MessageReader } from './message-reader.ts';
import type { IncomingMessage } from './mirror-plan.ts';

/** Adds sent messages to the mirror, in the process that sent them. */
@Injectable()
export class SentMessages implements SentMessageStore, OnModuleInit {
  readonly #log = new Logger(SentMessages.name);

  constructor(
    private readonly database: Database,
    private readonly accounts: ProviderAccounts,
    private readonly folders: FolderMirror,
    private readonly reader: MessageReader,
    private readonly batches: BatchStore,
    private readonly port: SentMirror,
  ) {}

  onModuleInit(): void {
    this.port.use(this);
  }

  async add(accountId: string, sent: readonly JustSent[]): Promise<void> {
    // A worker of the release before would take such a message for a removed one.
    if (await hasOlderWorkers(this.database)) return;
    const account = await this.accounts.find(accountId);
    if (!account) return;
    const { standard, ofSent } = await this.folders.placesOfSent(account);
    if (ofSent.length === 0) return;
    // The id of the row stands for the provider's id, which is not known yet.
    const messages = sent.map(({ id, mime }) => {
      return { providerId: id, content: { kind: 'mime', mime } as const };
    });
    const { parsed, failures } = await this.reader.read(messages, accountId, false);
    for (const { providerId, reason } of failures)
      this.#log.warn(
        `sent message ${providerId} of account ${accountId} cannot be parsed; a sync pass adds it: ${reason}`,
      );
    const failed = new Set(failures.map(({ providerId }) => providerId));
    const incoming = sent.flatMap(({ id, mime, at, threadId }): [string, IncomingMessage][] => {
      if (failed.has(id)) return [];
      const place = { providerId: id, threadId, folderIds: ofSent, receivedAt: at };
      const content = { kind: 'mime', mime } as const;
      const remote = { ...place, unread: false, starred: false, content };
      return [[id, { remote, parsed: parsed.get(id) ?? null }]];
    });
    if (incoming.length > 0) await this.batches.addSent(account, new Map(incoming), standard);
  }
}
