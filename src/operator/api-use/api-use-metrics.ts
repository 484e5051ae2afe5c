import { Injectable, type OnModuleInit } from '@nestjs/common';
import { MetricSources } from '../../platform/metrics/metric-sources.ts';
import {
  apiCeilingUsed,
  apiMonthForecast,
  apiPaidForecast,
  apiUnitsToday,
} from '../../platform/metrics/sync-metrics.ts';
import { type ApiUseState, ceilingShare } from './api-use.ts';
import { OperatorApiUse } from './operator-api-use.ts';

const SECONDS = 60;

/** Sets the gauges of one API from the entries of all applications. */
function show(states: readonly ApiUseState[]): void {
  for (const state of states) {
    const { company, api, today, monthForecast, paidForecast } = state;
    apiUnitsToday.inc({ company, api }, today);
    apiMonthForecast.inc({ company, api }, monthForecast);
    apiPaidForecast.inc({ company, api }, paidForecast);
  }
  const limited = states.filter(({ ceiling }) => ceiling !== null);
  // The highest is set last.
  for (const state of limited.toSorted((one, other) => ceilingShare(one) - ceilingShare(other)))
    apiCeilingUsed.set({ company: state.company, api: state.api }, ceilingShare(state));
}

/** Gives the page of metrics what all processes have used of companies' APIs. */
@Injectable()
export class ApiUseMetrics implements OnModuleInit {
  constructor(
    private readonly sources: MetricSources,
    private readonly use: OperatorApiUse,
  ) {}

  onModuleInit(): void {
    this.sources.add({
      name: 'company-apis',
      seconds: SECONDS,
      metrics: [apiUnitsToday, apiMonthForecast, apiPaidForecast, apiCeilingUsed],
      read: async (sql) => {
        const states = await this.use.all(sql);
        return () => show(states);
      },
    });
  }
}
