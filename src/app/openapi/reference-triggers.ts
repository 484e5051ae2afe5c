import type { OpenAPIObject } from '@nestjs/swagger';
import { html, type Html } from '../../platform/pages/html.ts';
import { example, inline, typeOf } from './reference-schemas.ts';
import type { Operation } from './operations.ts';
import { resolved, type Schemas } from './schemas.ts';
import { WEBHOOKS } from './webhooks/webhook-operations.ts';

const triggerAnchor = (trigger: string): string => `trigger-${trigger}`;

/**
 * What webhooks send for each trigger: its text, its schemas and an example. `null` if the document
 * has no triggers, as that for operators.
 */
export function triggersPart(document: OpenAPIObject): Html | null {
  const triggers = Object.entries(
    ((document as unknown as Record<string, unknown>)[WEBHOOKS] ?? {}) as Record<
      string,
      { post: Operation }
    >,
  );
  if (triggers.length === 0) return null;
  const schemas = (document.components?.schemas ?? {}) as Schemas;
  return html`<section id="triggers">
    <h2>triggers</h2>
    <p>
      What a webhook gets: by <code>POST</code> to its <code>callback_url</code>, or in its feed.
      One delivery can have several events, also of different triggers.
    </p>
    <p>
      ${triggers.map(([trigger]) => html`<a href="#${triggerAnchor(trigger)}">${trigger}</a> `)}
    </p>
    ${triggers.map(([trigger, { post }]) => triggerPart(trigger, post, schemas))}
  </section>`;
}

function triggerPart(
  trigger: string,
  { summary = '', requestBody }: Operation,
  schemas: Schemas,
): Html {
  const schema = requestBody?.content['application/json']?.schema ?? {};
  const delivery = resolved(schemas, schema);
  const data = delivery.properties?.['deltas']?.items?.properties?.['object_data'] ?? {};
  return html`<article id="${triggerAnchor(trigger)}">
    <h3><code>${trigger}</code></h3>
    <p><strong>${inline(summary)}</strong></p>
    <p>Body: ${typeOf(schema)}, its <code>object_data</code>: ${typeOf(data)}</p>
    ${example(delivery.example)}
  </article>`;
}
