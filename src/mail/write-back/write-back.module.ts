import { Module } from '@nestjs/common';
import { ProviderWritesModule } from '../../accounts/provider-writes/provider-writes.module.ts';
import { FolderWrites } from './folder-writes.ts';
import { MessageWrites } from './message-writes.ts';

/** Carries changes of folders and messages to their provider. Drafts have their own: `drafts/draft-writes.ts`. */
@Module({ imports: [ProviderWritesModule], providers: [FolderWrites, MessageWrites] })
export class WriteBackModule {}
