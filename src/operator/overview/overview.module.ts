import { Module } from '@nestjs/common';
import { OperatorApiUseModule } from '../api-use/operator-api-use.module.ts';
import { OperatorCapacityModule } from '../capacity/operator-capacity.module.ts';
import { OverviewMetrics } from './overview-metrics.ts';
import { OverviewService } from './overview.service.ts';

/** Numbers of the whole installation, for operators and for the page of metrics. */
@Module({
  imports: [OperatorApiUseModule, OperatorCapacityModule],
  providers: [OverviewService, OverviewMetrics],
  exports: [OverviewService],
})
export class OverviewModule {}
