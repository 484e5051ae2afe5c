import { Module } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../config/app-config.ts';
import { Database } from '../database/sql.ts';
import { NoSmsGateway } from './none.gateway.ts';
import { RecordingSmsGateway } from './recording.gateway.ts';
import { SmsGateway } from './sms-gateway.ts';

/** The SMS gateway the configuration names. */
@Module({
  providers: [
    {
      provide: SmsGateway,
      inject: [APP_CONFIG, Database],
      useFactory: ({ smsGateway }: AppConfig, database: Database): SmsGateway =>
        smsGateway === 'recording' ? new RecordingSmsGateway(database) : new NoSmsGateway(),
    },
  ],
  exports: [SmsGateway],
})
export class SmsModule {}
