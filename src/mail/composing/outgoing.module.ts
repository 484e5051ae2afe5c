import { Module } from '@nestjs/common';
import { FilesModule } from '../files/files.module.ts';
import { ComposingSlots } from './composing-slots.ts';
import { ListedContentsModule } from '../listed-contents/listed-contents.module.ts';
import { TrackingModule } from '../tracking/tracking.module.ts';
import { OutgoingMessages } from './outgoing-messages.ts';
import { ReplyTargets } from './reply-targets.ts';

/**
 * Composes messages and finds the messages they reply to, for drafts, the outbox and POST /send.
 */
@Module({
  imports: [FilesModule, ListedContentsModule, TrackingModule],
  providers: [ComposingSlots, OutgoingMessages, ReplyTargets],
  exports: [ComposingSlots, OutgoingMessages, ReplyTargets],
})
export class OutgoingModule {}
