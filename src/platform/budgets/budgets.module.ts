import { Module } from '@nestjs/common';
import { Clock } from '../base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../config/app-config.ts';
import { Database } from '../database/sql.ts';
import { ApiUseCounter } from './api-use-counter.ts';
import { ProviderBudget } from './provider-budget.ts';

/** Keeps requests to providers below the providers' limits, and counts what they use. */
@Module({
  providers: [
    ProviderBudget,
    {
      provide: ApiUseCounter,
      inject: [Database, Clock, APP_CONFIG],
      useFactory: (database: Database, clock: Clock, { budgets }: AppConfig) =>
        new ApiUseCounter(database, clock, budgets.apiUse.ceilings),
    },
  ],
  exports: [ApiUseCounter, ProviderBudget],
})
export class BudgetsModule {}
