import { Module } from '@nestjs/common';
import { FilesModule } from '../files/files.module.ts';
import { ProviderWritesModule } from '../../accounts/provider-writes/provider-writes.module.ts';
import { ListedContentsModule } from '../listed-contents/listed-contents.module.ts';
import { BodyObjectsModule } from '../messages/objects/body-objects.module.ts';
import { MessagesModule } from '../messages/messages.module.ts';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { OutgoingModule } from '../composing/outgoing.module.ts';
import { DraftFiles } from './draft-files.ts';
import { DraftWrites } from './draft-writes.ts';
import { DraftsController } from './drafts.controller.ts';
import { DraftsRepository } from './drafts.repository.ts';
import { DraftsService } from './drafts.service.ts';

/** Drafts. */
@Module({
  imports: [
    BodyObjectsModule,
    FilesModule,
    ListedContentsModule,
    MessagesModule,
    OutgoingModule,
    ProvidersModule,
    ProviderWritesModule,
  ],
  controllers: [DraftsController],
  providers: [DraftsRepository, DraftsService, DraftFiles, DraftWrites],
  exports: [DraftsService],
})
export class DraftsModule {}
