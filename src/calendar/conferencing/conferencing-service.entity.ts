import { defineEntity, p } from '@mikro-orm/core';
import { Application } from '../../accounts/applications/application.entity.ts';
import { idColumn, timestampColumns } from '../../platform/database/base-columns.ts';

const ConferencingServiceSchema = defineEntity({
  name: 'ConferencingService',
  tableName: 'conferencing_service',
  uniques: [{ name: 'conferencing_service_provider', properties: ['application', 'provider'] }],
  properties: {
    ...idColumn,
    application: () => p.manyToOne(Application).ref().deleteRule('cascade'),
    /** One of `CONFERENCING_PROVIDERS`: the name events ask for it by. */
    provider: p.text(),
    /** One of `CONFERENCING_KINDS`. */
    kind: p.text(),
    /** JSON of the settings of its kind, sealed: secrets are in it. */
    settingsSealed: p.text(),
    /** What is wrong with these settings, in the service's words: refused credentials, used up limits; null since it worked. */
    lastError: p.text().nullable(),
    lastErrorAt: p.datetime().columnType('timestamptz').nullable(),
    ...timestampColumns,
  },
});

/** A service that makes the meetings of an application's events. */
export class ConferencingService extends ConferencingServiceSchema.class {}
ConferencingServiceSchema.setClass(ConferencingService);
