import type { ZodType } from 'zod';
import type { Trigger } from '../webhook-state.ts';
import { PAYLOADS } from './payloads.ts';

const ID = '019aa1b2-0000-7000-8000-000000000001';
const ACCOUNT_ID = '019aa1b2-0000-7000-8000-00000000000a';

/** One delta of an example. */
export interface ExampleDelta {
  /** Unix seconds. */
  date: number;
  object: string;
  type: Trigger;
  object_data: Record<string, unknown>;
}

/** Kind of object that a trigger is about, as `object` names it. */
export function objectOf(trigger: Trigger): string {
  const [kind = ''] = trigger.split('.');
  return kind === 'job' ? 'job_status' : kind;
}

const exampleIn = (zod: ZodType | null): unknown => zod?.meta()?.['example'] ?? null;

/**
 * An example of what a webhook gets for a trigger, for the API documentation and for test events.
 * Its account and object do not exist.
 */
export function exampleDelivery(trigger: Trigger): { deltas: [ExampleDelta] } {
  const { attributes, metadata } = PAYLOADS[trigger];
  const object = objectOf(trigger);
  const account = object === 'webhook' ? null : ACCOUNT_ID;
  const data = {
    namespace_id: account,
    account_id: account,
    object,
    id: ['account', 'grant'].includes(object) ? ACCOUNT_ID : ID,
    attributes: exampleIn(attributes),
    metadata: exampleIn(metadata),
  };
  return { deltas: [{ date: 1_795_255_200, object, type: trigger, object_data: data }] };
}
