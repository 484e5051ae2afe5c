import { Inject, Module, type OnModuleInit } from '@nestjs/common';
import { AccountListeners } from '../../../accounts/grants/account-listeners.ts';
import { GrantsModule } from '../../../accounts/grants/grants.module.ts';
import { OBJECT_STORE, type ObjectStore } from '../../../platform/objects/object-store.ts';
import { ObjectsModule } from '../../../platform/objects/objects.module.ts';
import { BodyUploads } from './body-uploads.ts';
import { deleteObjectsOf, ObjectDeletions } from './object-deletions.ts';
import { ObjectSweep } from './object-sweep.ts';
import { StoredBodies } from './stored-bodies.ts';

/** Bodies of messages in the object store (docs/objects.md). */
@Module({
  imports: [GrantsModule, ObjectsModule],
  providers: [BodyUploads, ObjectDeletions, ObjectSweep, StoredBodies],
  exports: [BodyUploads, StoredBodies],
})
export class BodyObjectsModule implements OnModuleInit {
  constructor(
    private readonly listeners: AccountListeners,
    @Inject(OBJECT_STORE) private readonly store: ObjectStore | null,
  ) {}

  onModuleInit(): void {
    if (!this.store) return;
    this.listeners.add({
      removed: (sql, { accountId, at }) => deleteObjectsOf(sql, accountId, at),
    });
  }
}
