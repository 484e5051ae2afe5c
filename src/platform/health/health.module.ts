import { Module } from '@nestjs/common';
import { HttpModule } from '../http/http.module.ts';
import { HealthChecks } from './health-checks.ts';
import { HealthController } from './health.controller.ts';

/** Liveness and readiness probes. */
@Module({
  imports: [HttpModule],
  controllers: [HealthController],
  providers: [HealthChecks],
})
export class HealthModule {}
