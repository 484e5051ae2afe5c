import { Module } from '@nestjs/common';
import { FilesModule } from '../files/files.module.ts';
import { MessageTurns } from './message-turns.ts';
import { TrackingModule } from '../tracking/tracking.module.ts';
import { OutgoingMessages } from './outgoing-messages.ts';
import { ReplyTargets } from './reply-targets.ts';

/**
 * Composes messages and finds the messages they reply to, for drafts, the outbox and POST /send.
 */
@Module({
  imports: [FilesModule, TrackingModule],
  providers: [MessageTurns, OutgoingMessages, ReplyTargets],
  exports: [MessageTurns, OutgoingMessages, ReplyTargets],
})
export class OutgoingModule {}
