import { Module } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import { Hits } from './hits.ts';
import { Tracker } from './tracker.ts';
import { TrackingController } from './tracking.controller.ts';
import { TrackingTokens } from './tracking-tokens.ts';

/** Openings, clicks and replies of sent messages, and bounced mail. */
@Module({
  controllers: [TrackingController],
  providers: [
    {
      provide: TrackingTokens,
      inject: [APP_CONFIG],
      useFactory: ({ encryptionKeys }: AppConfig) => new TrackingTokens(encryptionKeys),
    },
    Tracker,
    Hits,
  ],
  exports: [Tracker],
})
export class TrackingModule {}
