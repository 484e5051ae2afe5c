import { Module } from '@nestjs/common';
import { AccountListeners } from '../../accounts/grants/account-listeners.ts';
import { GrantsModule } from '../../accounts/grants/grants.module.ts';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { AttachmentSources } from './attachment-sources.ts';
import { FilesController } from './files.controller.ts';
import { ListedContentsModule } from '../listed-contents/listed-contents.module.ts';
import { FILES_OF_ACCOUNT, FilesRepository } from './files.repository.ts';
import { FilesService } from './files.service.ts';
import { StoredBytes } from './stored-bytes.ts';
import { UploadsService } from './uploads/uploads.service.ts';

/** Uploads, and attachments of messages. */
@Module({
  imports: [GrantsModule, ListedContentsModule, ProvidersModule],
  controllers: [FilesController],
  providers: [FilesRepository, FilesService, UploadsService, StoredBytes, AttachmentSources],
  exports: [AttachmentSources, FilesService, StoredBytes],
})
export class FilesModule {
  constructor(accounts: AccountListeners) {
    accounts.add(FILES_OF_ACCOUNT);
  }
}
