import { Module } from '@nestjs/common';
import { AccountListeners } from '../../accounts/grants/account-listeners.ts';
import { GrantsModule } from '../../accounts/grants/grants.module.ts';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { FoldersController, LabelsController } from './folders.controller.ts';
import { FOLDERS_OF_ACCOUNT, FoldersRepository } from './folders.repository.ts';
import { FoldersService } from './folders.service.ts';

/** Folders and labels. */
@Module({
  imports: [GrantsModule, ProvidersModule],
  controllers: [FoldersController, LabelsController],
  providers: [FoldersRepository, FoldersService],
  exports: [FoldersService],
})
export class FoldersModule {
  constructor(accounts: AccountListeners) {
    accounts.add(FOLDERS_OF_ACCOUNT);
  }
}
