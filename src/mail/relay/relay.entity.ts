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
    /** Settings of its kind as encrypted JSON, because they contain keys and passwords. */
    settingsSealed: p.text(),
    /**
     * Problem with these settings, as the service reported it: refused credentials or no credits
     * left. `null` after the next message that was sent.
     */
    lastError: p.text().nullable(),
    lastErrorAt: p.datetime().columnType('timestamptz').nullable(),
    ...timestampColumns,
  },
});

/** The third-party mailing service of an application (ADR 0018). */
export class Relay extends RelaySchema.class {}
RelaySchema.setClass(Relay);
