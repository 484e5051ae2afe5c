import type { OpenAPIObject } from '@nestjs/swagger';
import { z, type ZodType } from 'zod';
import { SUMMARY_FIELDS } from '../../../deltas/event-objects.ts';
import { type Trigger, TRIGGERS } from '../../../platform/webhooks/webhook-state.ts';
import type { Parameter } from '../operations.ts';
import type { Schema, Schemas } from '../schemas.ts';
import { exampleDelivery, objectOf } from '../../../platform/webhooks/payloads/example-delivery.ts';
import { type Payload, PAYLOADS } from '../../../platform/webhooks/payloads/payloads.ts';

/** Key of the webhooks in the document: OpenAPI 3.0 has no `webhooks` (ADR 0149). */
export const WEBHOOKS = 'x-webhooks';

const NULL: Schema = { type: 'object', nullable: true, enum: [null] };

/** Fields that place an event among those of its webhook and account (`contents/deltas.ts`). */
const NUMBERS: Readonly<Record<string, Schema>> = {
  event_id: { type: 'string', description: 'Id of the event; the same at each delivery' },
  sequence: { type: 'integer', description: 'Number of the event; later events have higher ones' },
  previous_sequence: {
    type: 'integer',
    nullable: true,
    description:
      'Number of the previous event of this webhook and account; null if none is stored. If it is not the last one that you have, you have missed an event',
  },
};

const REPLAY_HEADER: Parameter = {
  name: 'carillon-replay',
  in: 'header',
  description:
    'Present if you or an operator had the event sent again (`POST /a/{client_id}/webhooks/{id}/replay`); its `event_id` is the same as before',
  schema: { type: 'string', enum: ['true'] },
  example: 'true',
};

const EXAMPLE_NUMBERS = {
  event_id: '019aa1b2-0000-7000-8000-000000000009',
  sequence: 4711,
  previous_sequence: 4705,
};

/** `MessageLinkClickedWebhook` for `message.link_clicked`. */
export const schemaName = (trigger: Trigger): string =>
  `${trigger.replace(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase())}Webhook`;

/** Adds an operation for each trigger, with the schema and an example of its delivery. */
export function addWebhooks(document: OpenAPIObject): void {
  const schemas = (document.components?.schemas ?? {}) as Schemas;
  const operations: Record<string, object> = {};
  const data = new Map<string, string>();
  for (const trigger of TRIGGERS) {
    const name = schemaName(trigger);
    const schema = dataSchema(trigger, PAYLOADS[trigger], schemas);
    const text = JSON.stringify(schema);
    // Triggers whose data looks alike share a schema, under the name of the first of them.
    const dataName = data.get(text) ?? `${name}Data`;
    data.set(text, dataName);
    schemas[dataName] = schema;
    schemas[name] = deliverySchema(trigger, dataName);
    operations[trigger] = { post: operationOf(trigger, name) };
  }
  (document as unknown as Record<string, unknown>)[WEBHOOKS] = operations;
}

function operationOf(trigger: Trigger, schema: string): object {
  const content = { schema: { $ref: `#/components/schemas/${schema}` } };
  return {
    operationId: `Webhooks_${schema.charAt(0).toLowerCase()}${schema.slice(1)}`,
    tags: ['webhooks'],
    summary: PAYLOADS[trigger].summary,
    description:
      'Sent to the `callback_url` of webhooks with this trigger. A webhook with several triggers can get events of all of them in one delivery.',
    security: [],
    parameters: [REPLAY_HEADER],
    requestBody: { required: true, content: { 'application/json': content } },
    responses: {
      '2XX': { description: 'You have received the event' },
      '410': { description: 'You do not want events any more: deliveries to this address end' },
    },
  };
}

function deliverySchema(trigger: Trigger, dataName: string): Schema {
  const payload = PAYLOADS[trigger];
  const delta = objectSchema({
    date: { type: 'integer', description: 'Time of the event, in Unix seconds' },
    object: { type: 'string', enum: [objectOf(trigger)], description: 'Kind of object' },
    type: { type: 'string', enum: [trigger], description: 'The trigger' },
    object_data: { $ref: `#/components/schemas/${dataName}` },
  });
  Object.assign(delta.properties ?? {}, NUMBERS);
  return {
    ...objectSchema({
      deltas: { type: 'array', items: delta, description: 'The events of this delivery' },
    }),
    description: payload.summary,
    example: {
      deltas: exampleDelivery(trigger).deltas.map((delta) => ({ ...delta, ...EXAMPLE_NUMBERS })),
    },
  };
}

function dataSchema(trigger: Trigger, payload: Payload, schemas: Schemas): Schema {
  const object = objectOf(trigger);
  // A webhook belongs to no account.
  const ofAccount: Schema = { type: 'string', ...(object === 'webhook' ? { nullable: true } : {}) };
  const attributes = payload.attributes ? schemaOf(payload.attributes) : NULL;
  const metadata = payload.metadata ? schemaOf(payload.metadata) : NULL;
  const data = (shown: Schema, content: string, isNamed: boolean): Schema => {
    const fields = {
      namespace_id: { ...ofAccount, description: 'Old name of `account_id`' },
      account_id: { ...ofAccount, description: 'Id of the account' },
      object: { type: 'string', enum: [object], description: 'Kind of object' },
      id: { type: 'string', description: 'Id of the object' },
      attributes: described(shown, 'What the event says about the object'),
      metadata: described(
        payload.metadata ? { ...metadata, nullable: true } : metadata,
        'Metadata of the object, or of the event',
      ),
      content: { type: 'string', enum: [content], description: 'What `attributes` contain' },
    };
    const all = objectSchema(fields);
    const required = (all.required ?? []).filter((key) => isNamed || key !== 'content');
    return { ...all, required };
  };
  const ids = data(attributes, 'ids', false);
  if (!payload.hasObject) return described(ids, 'The object that the event is about');
  const kind = object as keyof typeof SUMMARY_FIELDS;
  return {
    description: 'The object that the event is about',
    anyOf: [
      ids,
      data(summarySchema(kind, payload.attributes ? attributes : {}, schemas), 'summary', true),
      data({ allOf: [{ $ref: `#/components/schemas/${componentOf(kind)}` }] }, 'full', true),
    ],
  };
}

/** The stored attributes, and the fields of a summary as the object itself describes them. */
function summarySchema(
  kind: keyof typeof SUMMARY_FIELDS,
  stored: Schema,
  schemas: Schemas,
): Schema {
  const whole = schemas[componentOf(kind)] ?? {};
  const fields = SUMMARY_FIELDS[kind].flatMap((key): [string, Schema][] => {
    const field = whole.properties?.[key];
    return field ? [[key, field]] : [];
  });
  const required = fields.map(([key]) => key).filter((key) => whole.required?.includes(key));
  return {
    type: 'object',
    properties: { ...stored.properties, ...structuredClone(Object.fromEntries(fields)) },
    required: [...new Set([...(stored.required ?? []), ...required])],
    additionalProperties: false,
  };
}

const componentOf = (kind: string): string => kind.charAt(0).toUpperCase() + kind.slice(1);

function objectSchema(properties: Record<string, Schema>): Schema {
  return { type: 'object', properties, required: Object.keys(properties) };
}

function described(schema: Schema, description: string): Schema {
  return { ...schema, description };
}

/** A zod schema as OpenAPI writes it, without its example. */
function schemaOf(zod: ZodType): Schema {
  const { example: _, ...schema } = z.toJSONSchema(zod, { target: 'openapi-3.0' }) as Schema;
  return schema;
}
