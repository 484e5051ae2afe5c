import { Global, Module } from '@nestjs/common';
import './count-refusals.ts';
import { MetricSources } from './metric-sources.ts';
import { MetricsDatabase } from './metrics-database.ts';
import { MetricsController } from './metrics.controller.ts';
import { ProcessMetrics } from './process-metrics.ts';

/** The page of metrics. Global, because modules of all groups add sources. */
@Global()
@Module({
  controllers: [MetricsController],
  providers: [MetricsDatabase, MetricSources, ProcessMetrics],
  exports: [MetricsDatabase, MetricSources],
})
export class MetricsModule {}
