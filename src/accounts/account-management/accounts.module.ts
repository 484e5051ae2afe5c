import { Module } from '@nestjs/common';
import { GrantsModule } from '../grants/grants.module.ts';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { AccountController } from './account.controller.ts';
import { AccountService } from './account.service.ts';
import { ApplicationAccountsController } from './application-accounts.controller.ts';
import { ApplicationAccountsService } from './application-accounts.service.ts';

/**
 * Accounts as their own tokens see them (/account), and as their application manages them
 * (/a/{client_id}/accounts).
 */
@Module({
  imports: [GrantsModule, ProvidersModule],
  controllers: [AccountController, ApplicationAccountsController],
  providers: [AccountService, ApplicationAccountsService],
  exports: [ApplicationAccountsService],
})
export class AccountsModule {}
