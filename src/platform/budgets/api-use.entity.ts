import { defineEntity, p } from '@mikro-orm/core';
import type { CompanyApi } from './company-api.ts';

const ApiUseSchema = defineEntity({
  name: 'ApiUse',
  tableName: 'api_use',
  indexes: [{ name: 'api_use_day', properties: ['day'] }],
  properties: {
    /** Without a foreign key: counts are added while an application is deleted. */
    applicationId: p.uuid().primary(),
    /** A key of `COMPANY_APIS`. */
    api: p.text().$type<CompanyApi>().primary(),
    /** Day in UTC. */
    day: p.date().primary(),
    /** Quota units or requests, whatever the company counts. */
    units: p.bigint(),
  },
});

/** What one application has used of a company's API in one day. Kept for 400 days. */
export class ApiUse extends ApiUseSchema.class {}
ApiUseSchema.setClass(ApiUse);
