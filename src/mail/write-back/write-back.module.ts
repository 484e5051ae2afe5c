import { Module } from '@nestjs/common';
import { ProviderWritesModule } from '../../accounts/provider-writes/provider-writes.module.ts';
import { FolderWrites } from './folder-writes.ts';
import { MessageWrites } from './message-writes.ts';

/**
 * Carries changes of folders and messages to their provider. Changes of drafts are in
 * `drafts/draft-writes.ts`.
 */
@Module({ imports: [ProviderWritesModule], providers: [FolderWrites, MessageWrites] })
export class WriteBackModule {}
