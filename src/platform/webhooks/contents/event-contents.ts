import { Injectable } from '@nestjs/common';
import type { WebhookContent } from '../webhook-state.ts';

/** Content that is read when a delivery is composed. */
export type ReadContent = Exclude<WebhookContent, 'ids'>;

/** Reads objects of one account and kind. */
export type ObjectReader = (
  accountId: string,
  object: string,
  ids: readonly string[],
) => Promise<ReadonlyMap<string, EventObject>>;

/** An object as its own endpoint shows it, and some of its fields. */
export interface EventObject {
  /** `null` if it is too large for a delivery. */
  full: Readonly<Record<string, unknown>> | null;
  summary: Readonly<Record<string, unknown>>;
}

/** The parts of a stored event that are read or changed. */
interface StoredDelta {
  object_data: {
    account_id: string;
    object: string;
    id: string;
    attributes: Record<string, unknown> | null;
    content?: WebhookContent;
  };
}

/** Bytes of all events that are composed together: the most that one delivery may have. */
export const MOST_BYTES = 256 * 1024;
/** Bytes kept free for each event that follows, so that its summary still fits. */
const ROOM_FOR_NEXT = 2_048;
/** Bytes of the numbers that a delivery adds to each event (`deltas.ts`). */
const NUMBERS = 160;

/**
 * Adds the current objects to events, for webhooks that want more than ids. The objects are read
 * here and not stored with the events: most applications want only ids. A module that knows the
 * objects registers how to read them (`deltas/event-objects.ts`).
 */
@Injectable()
export class EventContents {
  #read: ObjectReader | undefined;

  /** Sets how objects are read, when the process starts. */
  register(read: ObjectReader): void {
    this.#read = read;
  }

  /**
   * The events with the content that a webhook wants: a summary beside the stored attributes, or
   * the object in their place. `object_data.content` says which content an event really has. It
   * is `ids` if the object does not exist any more, or if the scopes of the account hide it. It is
   * `summary` if the full object would make the events longer than 256 kB. Each kind of object of
   * an account is read once.
   * @param bodies `webhook_event.body` of each event
   * @returns bodies of the same form and in the same order; for `ids` the bytes that were given
   */
  async of(content: WebhookContent, bodies: readonly Buffer[]): Promise<readonly Buffer[]> {
    if (content === 'ids') return bodies;
    const deltas = bodies.map(deltaOf);
    const objects = await this.#objectsOf(deltas);
    let room = MOST_BYTES - bodies.length * ROOM_FOR_NEXT;
    return deltas.map((delta) => {
      room += ROOM_FOR_NEXT - NUMBERS;
      const body = withObject(delta, content, objects.get(keyOf(delta)), room);
      room -= body.length;
      return body;
    });
  }

  async #objectsOf(deltas: readonly StoredDelta[]): Promise<Map<string, EventObject>> {
    const found = new Map<string, EventObject>();
    if (!this.#read) return found;
    const kinds = Map.groupBy(deltas, ({ object_data: { account_id: account, object } }) =>
      JSON.stringify([account, object]),
    );
    for (const [kind, some] of kinds) {
      const [accountId, object] = JSON.parse(kind) as [string, string];
      const ids = [...new Set(some.map(({ object_data: { id } }) => id))];
      for (const [id, one] of await this.#read(accountId, object, ids))
        found.set(`${object}:${id}`, one);
    }
    return found;
  }
}

const keyOf = ({ object_data: { object, id } }: StoredDelta) => `${object}:${id}`;

function deltaOf(body: Buffer): StoredDelta {
  const { deltas } = JSON.parse(body.toString()) as { deltas: [StoredDelta] };
  return deltas[0];
}

/** @param room bytes that the event may have with the full object, or with a summary */
function withObject(
  delta: StoredDelta,
  content: ReadContent,
  object: EventObject | undefined,
  room: number,
): Buffer {
  if (!object) return bodyWith(delta, 'ids', {});
  const fields = object[content];
  const wanted = fields && bodyWith(delta, content, fields);
  if (wanted && wanted.length <= room) return wanted;
  const summary = bodyWith(delta, 'summary', object.summary);
  return summary.length <= room ? summary : bodyWith(delta, 'ids', {});
}

function bodyWith(
  delta: StoredDelta,
  content: WebhookContent,
  fields: Readonly<Record<string, unknown>>,
): Buffer {
  const { attributes: stored } = delta.object_data;
  const attributes = { ids: stored, summary: { ...stored, ...fields }, full: fields }[content];
  const data = { ...delta.object_data, attributes, content };
  return Buffer.from(JSON.stringify({ deltas: [{ ...delta, object_data: data }] }));
}
