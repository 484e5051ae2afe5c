import { Module } from '@nestjs/common';
import { AccountListeners } from '../grants/account-listeners.ts';
import { GrantsModule } from '../grants/grants.module.ts';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { ProviderWriteDispatcher } from './provider-write-dispatcher.ts';
import { ProviderWrites } from './provider-writes.ts';
import { WRITES_OF_ACCOUNT } from './provider-jobs.ts';

/** Provider writes: the registry that modules fill, and the dispatcher that the scheduler runs. */
@Module({
  imports: [GrantsModule, ProvidersModule],
  providers: [ProviderWrites, ProviderWriteDispatcher],
  exports: [ProviderWrites, ProviderWriteDispatcher],
})
export class ProviderWritesModule {
  constructor(accounts: AccountListeners) {
    accounts.add(WRITES_OF_ACCOUNT);
  }
}
