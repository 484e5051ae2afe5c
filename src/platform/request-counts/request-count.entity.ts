import { defineEntity, p } from '@mikro-orm/core';

const RequestCountSchema = defineEntity({
  name: 'RequestCount',
  tableName: 'request_count',
  properties: {
    minute: p.datetime().columnType('timestamptz').primary(),
    /** Method, route, status and error in one text; `ok` for requests that did not fail. */
    key: p.text().primary(),
    /** `null` for requests that did not fail, as are the next three. */
    method: p.text().nullable(),
    route: p.text().nullable(),
    status: p.integer().nullable(),
    error: p.text().nullable(),
    requests: p.bigint(),
    /** The last failed request; `null` if none failed. */
    requestId: p.text().nullable(),
  },
});

/** How the requests of one minute ended, over all processes. Kept for an hour (docs/adr/0131). */
export class RequestCount extends RequestCountSchema.class {}
RequestCountSchema.setClass(RequestCount);
