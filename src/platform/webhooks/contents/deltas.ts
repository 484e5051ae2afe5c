/** A stored event with its place among those of its webhook and account. */
export interface NumberedEvent {
  id: string;
  /** `webhook_event.seq`; `null` if the event has no number. */
  seq: number | null;
  /** Number of the previous event that the webhook wants; `null` if none is stored. */
  previousSeq: number | null;
  /** The stored JSON of one delivery with one delta: `webhook_event.body`. */
  body: Buffer;
}

const BEFORE = Buffer.from('{"deltas":[');
const AFTER = Buffer.from(']}');

/**
 * JSON of one delta: the stored one with `event_id`, `sequence` and `previous_sequence`. A receiver
 * that knows another last number of this account than `previous_sequence` has missed something.
 */
export function deltaJson({ id, seq, previousSeq, body }: NumberedEvent): Buffer {
  const stored = body.subarray(BEFORE.length, body.length - AFTER.length - 1);
  const numbers = `,"event_id":"${id}","sequence":${seq},"previous_sequence":${previousSeq}}`;
  return Buffer.concat([stored, Buffer.from(numbers)]);
}

/** Body of a delivery, or of a page of a feed, with these events in this order. */
export function deltasJson(events: readonly NumberedEvent[]): Buffer {
  const parts = events.flatMap((event, index) =>
    index === 0 ? [deltaJson(event)] : [Buffer.from(','), deltaJson(event)],
  );
  return Buffer.concat([BEFORE, ...parts, AFTER]);
}
