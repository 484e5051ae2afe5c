import { Module } from '@nestjs/common';
import { GrantsModule } from '../../accounts/grants/grants.module.ts';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { AttachmentSources } from './attachment-sources.ts';
import { FilesController } from './files.controller.ts';
import { FilesRepository } from './files.repository.ts';
import { FilesService } from './files.service.ts';
import { StoredBytes } from './stored-bytes.ts';
import { UploadsService } from './uploads.service.ts';

/** Uploads, and attachments of messages. */
@Module({
  imports: [GrantsModule, ProvidersModule],
  controllers: [FilesController],
  providers: [FilesRepository, FilesService, UploadsService, StoredBytes, AttachmentSources],
  exports: [AttachmentSources, FilesService, StoredBytes],
})
export class FilesModule {}
