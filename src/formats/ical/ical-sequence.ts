import type ICAL from 'ical.js';

/** Largest SEQUENCE that is read, so that it can still be raised without overflow. */
const MOST_SEQUENCE = 2 ** 30;

/**
 * SEQUENCE of an event (RFC 5545 3.8.7.4), limited to a range; 0 if it is absent or not a number.
 */
export function readSequence(event: ICAL.Component): number {
  const value = Number(event.getFirstPropertyValue('sequence') ?? 0);
  return Number.isSafeInteger(value) ? Math.min(Math.max(value, 0), MOST_SEQUENCE) : 0;
}
