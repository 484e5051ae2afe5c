import { createHash } from 'node:crypto';
import type { ClaimedRow, RowLoading } from '../../work/queue/dispatcher.ts';
import { previousSeq, wants } from '../events/matching.ts';
import type { WebhookContent, WebhookState } from '../webhook-state.ts';
import { SEALED_SECRETS, type SealedSecrets } from '../secrets/delivery-signer.ts';
import type { NumberedEvent } from '../contents/deltas.ts';

/** Most events of a request. */
export const MOST_DELTAS = 100;
/** Most bytes of a request with several events: a larger event is sent alone. */
export const MOST_BYTES = 256 * 1024;

/** A claimed row of `hook_job`: a lane, or one event to deliver again. */
export interface WebhookDeliveryRow extends ClaimedRow {
  /** The event to deliver again; for a lane, its account. */
  subjectId: string;
  giveUpAt: Date;
  /** As in `WebhookDelivery`. `null`: the row is no lane. */
  fromSeq: number | null;
  batchSeq: number | null;
  replay: boolean;
}

/** Whether a row is a lane: it delivers the events of one account to one webhook in order. */
export const isLane = ({ fromSeq }: WebhookDeliveryRow): boolean => fromSeq !== null;

/** What is loaded with a row. */
export interface LoadedBatch extends SealedSecrets {
  callbackUrl: string;
  state: WebhookState;
  content: WebhookContent;
  /** The stored JSON of the events, one after the other; `null` as `stored`: there are none. */
  bodies: Buffer | null;
  /** Of each event its id, number, length in bytes, and time of creation in Unix milliseconds. */
  stored: [id: string, seq: number | null, length: number, createdMs: number][] | null;
  accountId: string | null;
  /** `NumberedEvent.previousSeq` of the first event. */
  previousSeq: number | null;
  /** Whether further events of the lane were stored when the row was claimed. */
  more: boolean;
}

const COLUMNS = 'e.id, e.seq, e.account_id, e.application_id, e.created_at, e.body';
const BATCH = `
  select ${COLUMNS} from webhook_event e
  where j.from_seq is not null and e.account_id = j.event_id and e.seq > j.from_seq and e.seq <= j.batch_seq and ${wants('w', 'e')}
  order by e.seq limit ${MOST_DELTAS + 1}`;
const AGAIN = `select ${COLUMNS} from webhook_event e where j.from_seq is null and e.id = j.event_id`;

/** How the events of a row are loaded, together with those of all rows of a claim. */
export const BATCH_LOADING: RowLoading = {
  columns: `w.callback_url as "callbackUrl", w.state, w.content, ${SEALED_SECRETS}, b.*`,
  // One value for all bodies, and JSON: arrays would take the program several times as long.
  joins: `
    join webhook w on w.id = j.webhook_id
    join application a on a.id = w.application_id
    cross join lateral (
      select string_agg(x.body, ''::bytea order by x.n) as bodies,
        json_agg(json_build_array(x.id, x.seq, length(x.body), floor(extract(epoch from x.created_at) * 1000)) order by x.n) as stored,
        (array_agg(x.account_id))[1] as "accountId", max(case when x.n = 1 then ${previousSeq('w', 'x')} end) as "previousSeq",
        coalesce(count(*) < max(x.stored), false) as more
      from (
        select e.*, row_number() over (order by e.seq) as n, count(*) over () as stored,
          sum(length(e.body)) over (order by e.seq) as bytes
        from ((${BATCH}) union all (${AGAIN})) e) x
      where x.n = 1 or (x.n <= ${MOST_DELTAS} and x.bytes <= ${MOST_BYTES})) b`,
  // A delivery may be repeated, so it has no hand-off marker.
  ready: 'false',
};

/** The events of a row that are delivered together, in their order. */
export interface Batch {
  events: (NumberedEvent & { createdAt: Date })[];
  accountId: string | null;
  /** Whether the lane has further events behind these, as known at the claim. */
  more: boolean;
}

/** The events of a row; `null` if none of them is stored. */
export function batchOf({
  bodies,
  stored,
  accountId,
  previousSeq: before,
  more,
}: LoadedBatch): Batch | null {
  if (!bodies || !stored) return null;
  let end = 0;
  let previous = before;
  const events = stored.map(([id, seq, length, createdMs]) => {
    const body = bodies.subarray(end, (end += length));
    const event = { id, seq, previousSeq: previous, body, createdAt: new Date(createdMs) };
    previous = seq;
    return event;
  });
  return { events, accountId, more };
}

/** `webhook-id` of a request with this batch only: a repetition of the batch has the same. */
export function batchId(webhookId: string, { events }: Batch): string {
  const [first] = events;
  if (events.length === 1 && first) return first.id;
  return uuidOf(`${webhookId}/${first?.seq ?? null}/${events.at(-1)?.seq ?? null}`);
}

/** The UUIDv8 (RFC 9562, section 5.8) of a text: equal texts have the same one. */
export function uuidOf(text: string): string {
  const hash = createHash('sha256').update(text).digest();
  hash[6] = ((hash[6] ?? 0) & 0x0f) | 0x80;
  hash[8] = ((hash[8] ?? 0) & 0x3f) | 0x80;
  return hash.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
