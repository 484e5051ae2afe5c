import { defineEntity, p } from '@mikro-orm/core';
import { Application } from '../../accounts/applications/application.entity.ts';
import { idColumn, timestampColumns } from '../../platform/database/base-columns.ts';
import type {
  ConferencingProvider,
  ConferencingKind,
} from '../../providers/port/conferencing-port.ts';

const ConferencingServiceSchema = defineEntity({
  name: 'ConferencingService',
  tableName: 'conferencing_service',
  uniques: [{ name: 'conferencing_service_provider', properties: ['application', 'provider'] }],
  properties: {
    ...idColumn,
    application: () => p.manyToOne(Application).ref().deleteRule('cascade'),
    /** One of `CONFERENCING_PROVIDERS`: the name by which events select the service. */
    provider: p.text().$type<ConferencingProvider>(),
    /** One of `CONFERENCING_KINDS`. */
    kind: p.text().$type<ConferencingKind>(),
    /** Settings of the kind as JSON, encrypted because they contain secrets. */
    settingsSealed: p.text(),
    /**
     * Last error that concerns the settings, as the service reported it: refused credentials or a
     * used-up limit. `null` after the next success.
     */
    lastError: p.text().nullable(),
    lastErrorAt: p.datetime().columnType('timestamptz').nullable(),
    ...timestampColumns,
  },
});

/** A service that creates online meetings for an application's events. */
export class ConferencingService extends ConferencingServiceSchema.class {}
ConferencingServiceSchema.setClass(ConferencingService);
