import type ICAL from 'ical.js';

/* Reads the values of the properties of a card. */

/** The text of one component of a structured value, even if the component has several values. */
export function part(value: unknown, index: number): string | null {
  const one: unknown = Array.isArray(value)
    ? (value as unknown[])[index]
    : index === 0
      ? value
      : undefined;
  const text = Array.isArray(one) ? one.join(' ') : typeof one === 'string' ? one : '';
  return text.trim() || null;
}

/**
 * The raw values. The library converts values when they are read, and throws if a value does not
 * match its type (`BDAY:circa 1800`).
 */
export function valuesOf(property: ICAL.Property | null): unknown[] {
  return property?.jCal.slice(FIRST_VALUE) ?? [];
}

/** Position of the first value in jCard, after name, parameters and type (RFC 7095 section 3.3). */
const FIRST_VALUE = 3;

/** The first value of the first property of a name. */
export function firstValue(card: ICAL.Component, name: string): unknown {
  return valuesOf(card.getFirstProperty(name))[0];
}

/** Numbers and other scalars become texts. */
export const scalar = (value: unknown): string =>
  typeof value === 'object' || value === undefined ? '' : String(value).trim();

/** The first text of the first property of a name, or `null`. */
export function text(card: ICAL.Component, name: string): string | null {
  const value = firstValue(card, name);
  return scalar(Array.isArray(value) ? value.join(' ') : value) || null;
}
