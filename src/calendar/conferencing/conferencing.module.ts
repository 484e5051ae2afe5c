import { Module } from '@nestjs/common';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { QuotasModule } from '../../platform/quotas/quotas.module.ts';
import { ConferencingAccess } from './conferencing-access.ts';
import { ConferencingController } from './conferencing.controller.ts';
import { ConferencingRepository } from './conferencing.repository.ts';
import { ConferencingServices } from './conferencing.service.ts';
import { MeetingUpkeep } from './meeting-upkeep.ts';
import { Meetings } from './meetings.ts';
import { MeetingsRepository } from './meetings.repository.ts';

/** Online meetings of events, and the services that create them. */
@Module({
  imports: [ProvidersModule, QuotasModule],
  controllers: [ConferencingController],
  providers: [
    ConferencingAccess,
    ConferencingRepository,
    ConferencingServices,
    Meetings,
    MeetingsRepository,
    MeetingUpkeep,
  ],
  exports: [ConferencingServices, Meetings],
})
export class ConferencingModule {}
