import { defineEntity, p } from '@mikro-orm/core';
import { Application } from '../../accounts/applications/application.entity.ts';
import { timestampColumns } from '../../platform/database/base-columns.ts';

const RelaySchema = defineEntity({
  name: 'Relay',
  tableName: 'relay',
  properties: {
    application: () => p.oneToOne(Application).ref().primary().deleteRule('cascade'),
    /** One of `RELAY_KINDS`. */
    kind: p.text(),
    /** JSON of the settings of its kind, sealed: keys and passwords are in it. */
    settingsSealed: p.text(),
    /** What is wrong with these settings, in the service's words: refused credentials, used up credits; null since it worked. */
    lastError: p.text().nullable(),
    lastErrorAt: p.datetime().columnType('timestamptz').nullable(),
    ...timestampColumns,
  },
});

/** The third-party mailing service of an application (spec 4.3 rule 8). */
export class Relay extends RelaySchema.class {}
RelaySchema.setClass(Relay);
