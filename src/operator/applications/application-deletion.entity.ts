import { defineEntity, p } from '@mikro-orm/core';

const ApplicationDeletionSchema = defineEntity({
  name: 'ApplicationDeletion',
  tableName: 'application_deletion',
  properties: {
    // No foreign key: the row outlives the application.
    applicationId: p.uuid().primary(),
    clientId: p.text(),
    name: p.text(),
    requestedAt: p.datetime().columnType('timestamptz'),
    /** Name of the operator. */
    requestedBy: p.text(),
    /** Accounts that it had when the deletion began. */
    accounts: p.integer(),
    accountsDeleted: p.integer().default(0),
    /** What is being deleted; `done` at the end (`DELETION_STEPS`). */
    step: p.text(),
    /** Accounts that are being deleted; the next run continues with them. */
    leaving: p.array(),
    /** End of the lease of the process that deletes; `null` if none does. */
    leaseUntil: p.datetime().columnType('timestamptz').nullable(),
    finishedAt: p.datetime().columnType('timestamptz').nullable(),
    /** Why the last batch failed; `null` if it did not. */
    lastError: p.text().nullable(),
  },
});

/** The deletion of an application: its progress, and afterwards the record that it was deleted. */
export class ApplicationDeletion extends ApplicationDeletionSchema.class {}
ApplicationDeletionSchema.setClass(ApplicationDeletion);
