import { Module } from '@nestjs/common';
import { AccountListeners } from '../accounts/grants/account-listeners.ts';
import { GrantsModule } from '../accounts/grants/grants.module.ts';
import { ProviderWritesModule } from '../accounts/provider-writes/provider-writes.module.ts';
import { ProvidersModule } from '../providers/providers.module.ts';
import { ContactWrites } from './contact-writes.ts';
import { ContactsController } from './contacts.controller.ts';
import { CONTACTS_OF_ACCOUNT, ContactsRepository } from './contacts.repository.ts';
import { ContactsService } from './contacts.service.ts';

@Module({
  imports: [GrantsModule, ProvidersModule, ProviderWritesModule],
  controllers: [ContactsController],
  providers: [ContactsRepository, ContactsService, ContactWrites],
  exports: [ContactsService],
})
export class ContactsModule {
  constructor(accounts: AccountListeners) {
    accounts.add(CONTACTS_OF_ACCOUNT);
  }
}
