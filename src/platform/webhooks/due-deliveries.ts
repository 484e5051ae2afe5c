import { Injectable } from '@nestjs/common';
import { JointLookUp } from '../base/concurrency/joint-look-up.ts';
import { Database } from '../database/sql.ts';
import type { WebhookState } from './webhook-state.ts';

/** What one attempt needs. */
export interface LoadedDelivery {
  callbackUrl: string;
  state: WebhookState;
  applicationId: string;
  secretSealed: string;
  /** Null when the event is not stored any more. */
  body: Buffer | null;
}

interface Row extends LoadedDelivery {
  webhookId: string;
  eventId: string;
}

const LOAD = `
  select j.webhook_id as "webhookId", j.event_id as "eventId", w.callback_url as "callbackUrl", w.state,
         w.application_id as "applicationId", a.secret_sealed as "secretSealed", e.body
  from unnest($1::uuid[], $2::uuid[]) j(webhook_id, event_id)
  join webhook w on w.id = j.webhook_id
  join application a on a.id = w.application_id
  left join webhook_event e on e.id = j.event_id`;

const keyOf = (webhookId: string, eventId: string): string => `${webhookId}/${eventId}`;

/** Loads what is to be delivered: deliveries that are claimed together in one query. */
@Injectable()
export class DueDeliveries {
  readonly #loaded = new JointLookUp<LoadedDelivery>((keys) => this.#load(keys));

  constructor(private readonly database: Database) {}

  /** As of a moment after the call. @returns undefined when the webhook was deleted */
  find(webhookId: string, eventId: string): Promise<LoadedDelivery | undefined> {
    return this.#loaded.get(keyOf(webhookId, eventId));
  }

  async #load(keys: readonly string[]): Promise<Map<string, LoadedDelivery>> {
    const pairs = keys.map((key) => key.split('/'));
    const rows = await this.database.query<Row>(LOAD, [
      pairs.map(([webhookId]) => webhookId),
      pairs.map(([, eventId]) => eventId),
    ]);
    return new Map(rows.map((row) => [keyOf(row.webhookId, row.eventId), row]));
  }
}
