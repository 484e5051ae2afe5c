import { Module } from '@nestjs/common';
import { DraftsModule } from '../drafts/drafts.module.ts';
import { IdempotencyModule } from '../../platform/idempotency/idempotency.module.ts';
import { OutboxModule } from '../outbox/outbox.module.ts';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { OutgoingModule } from '../composing/outgoing.module.ts';
import { ParsingModule } from '../parsing/parsing.module.ts';
import { SendComposition } from './send-composition.ts';
import { SendController } from './send.controller.ts';
import { SendService } from './send.service.ts';
import { SentViews } from './sent-view.ts';
import { V2SendController } from './v2-send.controller.ts';

/** Sending messages within requests. */
@Module({
  imports: [
    DraftsModule,
    IdempotencyModule,
    OutboxModule,
    OutgoingModule,
    ParsingModule,
    ProvidersModule,
  ],
  controllers: [SendController, V2SendController],
  providers: [SendComposition, SendService, SentViews],
})
export class SendModule {}
