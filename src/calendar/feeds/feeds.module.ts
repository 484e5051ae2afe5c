import { Module } from '@nestjs/common';
import { CalendarsModule } from '../calendars/calendars.module.ts';
import { FeedFileController } from './feed-file.controller.ts';
import { FeedsController } from './feeds.controller.ts';
import { FeedsRepository } from './feeds.repository.ts';
import { FeedsService } from './feeds.service.ts';

/** Calendars at secret URLs. */
@Module({
  imports: [CalendarsModule],
  controllers: [FeedsController, FeedFileController],
  providers: [FeedsService, FeedsRepository],
})
export class FeedsModule {}
