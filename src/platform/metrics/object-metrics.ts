import { Counter, Gauge, Histogram } from 'prom-client';
import { ANSWER_SECONDS, shared } from './registry.ts';

/* The object store of message bodies (docs/objects.md). */

/** Attempts at the object store. */
export const objectRequests = new Counter({
  ...shared,
  name: 'carillon_object_requests_total',
  help: 'Attempts at the object store by operation (put, get, delete, list) and result: ok, failed',
  labelNames: ['operation', 'result'],
});

/** Duration of attempts at the object store. */
export const objectSeconds = new Histogram({
  ...shared,
  name: 'carillon_object_request_duration_seconds',
  help: 'Duration of attempts at the object store by operation',
  labelNames: ['operation'],
  buckets: ANSWER_SECONDS,
});

/** Objects that are missing or changed. */
export const objectsDamaged = new Counter({
  ...shared,
  name: 'carillon_objects_damaged_total',
  help: 'Reads of an object that the object store has lost, or returned with other contents than were stored',
});

/** Installation: bodies that wait to go to the object store. */
export const objectUploadsWaiting = new Gauge({
  ...shared,
  name: 'carillon_object_uploads_waiting',
  help: 'Installation: bodies of messages that wait in the database to go to the object store; at most 100000',
});
