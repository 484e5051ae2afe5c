import { Module } from '@nestjs/common';
import { ProviderAccounts } from './provider-accounts.ts';

@Module({ providers: [ProviderAccounts], exports: [ProviderAccounts] })
export class GrantsModule {}
