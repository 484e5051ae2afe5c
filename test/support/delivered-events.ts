import { apiDocumentOf } from './documents.ts';
import { schemaName } from '../../src/app/openapi/webhooks/webhook-operations.ts';
import type { Trigger } from '../../src/platform/webhooks/webhook-state.ts';
import { DocumentedApi } from './examples/documented.ts';
import type { Receiver } from './receiver.ts';
import type { TestApp } from './test-app.ts';

/** One delta of a delivery. */
export interface DeliveredEvent {
  date: number;
  object: string;
  type: Trigger;
  object_data: {
    account_id: string;
    object: string;
    id: string;
    attributes: Record<string, unknown> | null;
    metadata: Record<string, unknown> | null;
    content?: string;
  };
}

/** The events that a receiver has got, in the order of their arrival. */
export function eventsAt(receiver: Receiver, path?: string): DeliveredEvent[] {
  return receiver.posted
    .filter(({ url }) => path === undefined || url === path)
    .flatMap(({ body }) => (JSON.parse(body.toString()) as { deltas: DeliveredEvent[] }).deltas);
}

/**
 * What differs between deliveries and their schemas in the OpenAPI document. Empty if nothing does.
 */
export function undocumented(server: TestApp, events: readonly DeliveredEvent[]): string[] {
  const api = new DocumentedApi(apiDocumentOf(server.app));
  return events.flatMap((event) =>
    api
      .faultsOfSchema(schemaName(event.type), { deltas: [event] })
      .map((fault) => `${event.type} ${event.object_data.content ?? ''}: ${fault}`),
  );
}
