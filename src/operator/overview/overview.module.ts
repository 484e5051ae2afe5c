import { Module } from '@nestjs/common';
import { OverviewMetrics } from './overview-metrics.ts';
import { OverviewService } from './overview.service.ts';

/** Numbers of the whole installation, for operators and for the page of metrics. */
@Module({
  providers: [OverviewService, OverviewMetrics],
  exports: [OverviewService],
})
export class OverviewModule {}
