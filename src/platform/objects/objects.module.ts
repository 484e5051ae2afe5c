import { Inject, Module, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../config/app-config.ts';
import { Readiness } from '../work/readiness.ts';
import { OBJECT_STORE, type ObjectStore } from './object-store.ts';
import { S3Store } from './s3/s3-store.ts';

/** The object store of `OBJECTS_URL`, or `null` under the token `OBJECT_STORE`. */
@Module({
  providers: [
    {
      provide: OBJECT_STORE,
      inject: [APP_CONFIG],
      useFactory: ({ objects: { store } }: AppConfig) => (store ? new S3Store(store) : null),
    },
  ],
  exports: [OBJECT_STORE],
})
export class ObjectsModule implements OnModuleInit, OnApplicationShutdown {
  constructor(
    private readonly readiness: Readiness,
    @Inject(OBJECT_STORE) private readonly store: ObjectStore | null,
  ) {}

  /** The process gets traffic without its store: most requests need no body. */
  onModuleInit(): void {
    const { store } = this;
    if (store) this.readiness.register('objects', () => store.check(), { isOptional: true });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.store?.close();
  }
}
