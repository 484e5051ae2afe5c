import { type DynamicModule, Global, Module } from '@nestjs/common';
import './nest/nest-logs.ts';
import { SecretBox } from './base/crypto/secret-box.ts';
import { ConnectionChecks } from './egress/connection-checks.ts';
import { EgressClient } from './egress/egress-client.ts';
import { EgressPolicy } from './egress/egress-policy.ts';
import { Signals, signals } from './work/signals.ts';
import { CurrentWorker } from './work/workers/current-worker.ts';
import { Readiness } from './work/readiness.ts';
import { WorkPermit } from './work/workers/work-permit.ts';
import { APP_CONFIG, type AppConfig } from './config/app-config.ts';
import { LOG_DESTINATION, type LogDestination } from './config/log-destination.ts';

/** Provides the configuration, and the services built from it, to every module. */
@Global()
@Module({})
export class ConfigModule {
  /** @param logTo destination of log lines; default: standard output */
  static register(config: AppConfig, logTo: LogDestination | null = null): DynamicModule {
    return {
      module: ConfigModule,
      providers: [
        { provide: APP_CONFIG, useValue: config },
        { provide: LOG_DESTINATION, useValue: logTo },
        { provide: SecretBox, useValue: new SecretBox(config.encryptionKeys) },
        { provide: Signals, useValue: signals },
        { provide: Readiness, useValue: new Readiness() },
        { provide: WorkPermit, useValue: new WorkPermit() },
        { provide: CurrentWorker, useValue: new CurrentWorker() },
        { provide: EgressPolicy, useValue: new EgressPolicy(config.egressAllow) },
        { provide: ConnectionChecks, useValue: new ConnectionChecks(config.checks) },
        {
          provide: EgressClient,
          inject: [EgressPolicy],
          useFactory: (policy: EgressPolicy) => new EgressClient(policy),
        },
      ],
      exports: [
        APP_CONFIG,
        LOG_DESTINATION,
        SecretBox,
        Signals,
        Readiness,
        WorkPermit,
        CurrentWorker,
        EgressPolicy,
        EgressClient,
        ConnectionChecks,
      ],
    };
  }
}
