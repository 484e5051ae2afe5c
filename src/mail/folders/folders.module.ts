import { Module } from '@nestjs/common';
import { ProviderWritesModule } from '../../accounts/provider-writes/provider-writes.module.ts';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { FolderWrites } from './folder-writes.ts';
import { FoldersController } from './folders.controller.ts';
import { FoldersRepository } from './folders.repository.ts';
import { FoldersService } from './folders.service.ts';
import { LabelsController } from './labels.controller.ts';

/** Folders and labels. */
@Module({
  imports: [ProvidersModule, ProviderWritesModule],
  controllers: [FoldersController, LabelsController],
  providers: [FoldersRepository, FoldersService, FolderWrites],
  exports: [FoldersService],
})
export class FoldersModule {}
