import { Module } from '@nestjs/common';
import { OperatorCapacityModule } from '../capacity/operator-capacity.module.ts';
import { OverviewMetrics } from './overview-metrics.ts';
import { OverviewService } from './overview.service.ts';

/** Numbers of the whole installation, for operators and for the page of metrics. */
@Module({
  imports: [OperatorCapacityModule],
  providers: [OverviewService, OverviewMetrics],
  exports: [OverviewService],
})
export class OverviewModule {}
