import { Module } from '@nestjs/common';
import { ProviderBudget } from './provider-budget.ts';

/** Keeps requests to providers below the providers' limits. */
@Module({ providers: [ProviderBudget], exports: [ProviderBudget] })
export class BudgetsModule {}
