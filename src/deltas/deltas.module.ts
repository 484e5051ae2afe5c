import { Module } from '@nestjs/common';
import { AuthModule } from '../platform/auth/auth.module.ts';
import { CalendarsModule } from '../calendar/calendars/calendars.module.ts';
import { ContactsModule } from '../contacts/contacts.module.ts';
import { EventsModule } from '../calendar/events/events.module.ts';
import { FilesModule } from '../mail/files/files.module.ts';
import { FoldersModule } from '../mail/folders/folders.module.ts';
import { MessagesModule } from '../mail/messages/messages.module.ts';
import { ThreadsModule } from '../mail/threads/threads.module.ts';
import { WebhooksModule } from '../platform/webhooks/webhooks.module.ts';
import { CallerWatch } from '../platform/waiting/caller-watch.ts';
import { ChangeWatch } from './change-watch.ts';
import { ChangedObjects } from './changed-objects.ts';
import { DeltaWaits } from './delta-waits.ts';
import { DeltasController } from './deltas.controller.ts';
import { DeltasRepository } from './deltas.repository.ts';
import { DeltasService } from './deltas.service.ts';
import { EventObjects } from './event-objects.ts';

/** Reading the changes of an account. Modules that record changes only need `change-log.ts`. */
@Module({
  imports: [
    AuthModule,
    MessagesModule,
    FoldersModule,
    FilesModule,
    CalendarsModule,
    EventsModule,
    ContactsModule,
    ThreadsModule,
    WebhooksModule,
  ],
  controllers: [DeltasController],
  providers: [
    DeltasRepository,
    DeltasService,
    ChangedObjects,
    EventObjects,
    ChangeWatch,
    CallerWatch,
    DeltaWaits,
  ],
})
export class DeltasModule {}
