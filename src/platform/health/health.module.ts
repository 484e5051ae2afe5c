import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { HttpModule } from '../http/http.module.ts';
import { HealthChecks } from './health-checks.ts';
import { HealthController } from './health.controller.ts';
import { ReadRoutes } from './read-routes.ts';
import { StandbyGuard } from './standby.guard.ts';
import { Standbys } from './standbys.ts';

/** Liveness and readiness probes, and the refusal of changes that could not be stored. */
@Module({
  imports: [HttpModule],
  controllers: [HealthController],
  providers: [HealthChecks, ReadRoutes, Standbys, { provide: APP_GUARD, useClass: StandbyGuard }],
})
export class HealthModule {}
