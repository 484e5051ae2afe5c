import { defineEntity, p } from '@mikro-orm/core';
import { Application } from '../applications/application.entity.ts';
import { idColumn, timestampColumns } from '../../platform/database/base-columns.ts';
import type { ShownSettings } from '../../providers/port/sign-in/integration-descriptor.ts';

const IntegrationSchema = defineEntity({
  name: 'Integration',
  tableName: 'integration',
  uniques: [{ name: 'integration_application_provider', properties: ['application', 'provider'] }],
  properties: {
    ...idColumn,
    application: () => p.manyToOne(Application).ref().deleteRule('cascade'),
    provider: p.text(),
    name: p.text(),
    /** Settings that are shown, with their names in the API. */
    settings: p.json<ShownSettings>(),
    /**
     * JSON of the settings that are never shown, such as `client_secret`, encrypted; `null` if
     * there are none.
     */
    secretSettingsSealed: p.text().nullable(),
    redirectUris: p.array(),
    /** Lifetime of a login request in seconds. */
    expiresIn: p.integer(),
    /** Default scopes of its grants; `null` for all. */
    scope: p.array().nullable(),
    /** Whether its accounts may be used only while their address is proven (ADR 0056). */
    requireProvenAddress: p.boolean().default(false),
    ...timestampColumns,
  },
});

/**
 * A provider that an application has registered. There is one integration per provider and
 * application.
 */
export class Integration extends IntegrationSchema.class {}
IntegrationSchema.setClass(Integration);
