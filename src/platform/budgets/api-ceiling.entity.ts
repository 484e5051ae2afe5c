import { defineEntity, p } from '@mikro-orm/core';
import type { CompanyApi } from './company-api.ts';

const ApiCeilingSchema = defineEntity({
  name: 'ApiCeiling',
  tableName: 'api_ceiling',
  properties: {
    /** Without a foreign key, as `api_use`: it is deleted together with what was used. */
    applicationId: p.uuid().primary(),
    /** A key of `COMPANY_APIS`. */
    api: p.text().$type<CompanyApi>().primary(),
    /** What the application may use in a day (UTC); 0 = no ceiling. */
    units: p.bigint(),
  },
});

/** The ceiling that an operator has set for one application, in place of the setting. */
export class ApiCeiling extends ApiCeilingSchema.class {}
ApiCeilingSchema.setClass(ApiCeiling);
