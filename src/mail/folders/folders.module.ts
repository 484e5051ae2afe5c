import { Module } from '@nestjs/common';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { FoldersController } from './folders.controller.ts';
import { FoldersRepository } from './folders.repository.ts';
import { FoldersService } from './folders.service.ts';
import { LabelsController } from './labels.controller.ts';

/** Folders and labels. */
@Module({
  imports: [ProvidersModule],
  controllers: [FoldersController, LabelsController],
  providers: [FoldersRepository, FoldersService],
  exports: [FoldersService],
})
export class FoldersModule {}
