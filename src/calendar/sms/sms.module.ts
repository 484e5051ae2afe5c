import { Module } from '@nestjs/common';
import { EgressClient } from '../../platform/egress/egress-client.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import { Database } from '../../platform/database/sql.ts';
import { HttpSmsGateway } from './http.gateway.ts';
import { NoSmsGateway } from './none.gateway.ts';
import { RecordingSmsGateway } from './recording.gateway.ts';
import { SmsGateway } from './sms-gateway.ts';
import { TwilioSmsGateway } from './twilio.gateway.ts';

function gatewayOf(
  { sms }: AppConfig,
  database: Database,
  egress: EgressClient,
  clock: Clock,
): SmsGateway {
  switch (sms.gateway) {
    case 'none':
      return new NoSmsGateway();
    case 'recording':
      return new RecordingSmsGateway(database);
    case 'twilio':
      return new TwilioSmsGateway(sms, egress, clock);
    case 'http':
      return new HttpSmsGateway(sms, egress, clock);
  }
}

/** Provides the SMS gateway chosen by the configuration. */
@Module({
  providers: [
    {
      provide: SmsGateway,
      inject: [APP_CONFIG, Database, EgressClient, Clock],
      useFactory: gatewayOf,
    },
  ],
  exports: [SmsGateway],
})
export class SmsModule {}
