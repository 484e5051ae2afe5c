import { Global, Module } from '@nestjs/common';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { QuotasModule } from '../../platform/quotas/quotas.module.ts';
import { EventMeetings } from '../events/ports/event-meetings.ts';
import { ConferencingAccess } from './conferencing-access.ts';
import { ConferencingController } from './conferencing.controller.ts';
import { ConferencingRepository } from './conferencing.repository.ts';
import { ConferencingServices } from './conferencing.service.ts';
import { MeetingUpkeep } from './meeting-upkeep.ts';
import { Meetings } from './meetings.ts';
import { MeetingsOfEvents } from './meetings-of-events.ts';
import { MeetingsRepository } from './meetings.repository.ts';

/**
 * Online meetings of events, and the services that create them. Global, because it provides
 * `EventMeetings` to `EventsModule`, which is below it (ADR 0105).
 */
@Global()
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
    { provide: EventMeetings, useClass: MeetingsOfEvents },
  ],
  exports: [EventMeetings],
})
export class ConferencingModule {}
