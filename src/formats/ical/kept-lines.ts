import ICAL from 'ical.js';
import type { LineParts } from './content-lines.ts';

/*
 * What cannot be read in a file. The library gets a placeholder for each such line, so that the
 * line stays at its place. When the file is written again, the placeholder becomes the line as it
 * was, byte for byte.
 */

/** Name of the placeholders. A line with this name in a file is kept like an unreadable one. */
export const KEPT = 'x-carillon-kept';

/** Text around the object that is written back with it. */
interface Kept {
  lines: string[];
  before: string;
  after: string;
}

const kept = new WeakMap<ICAL.Component, Kept>();
const warnings = new WeakMap<ICAL.Component, Set<string>>();

/** Most warnings about one event, and the longest. */
export const MOST_WARNINGS = 20;
const LONGEST_WARNING = 300;

/** A placeholder, as jCal. */
export function placeholder(name: string, index: number): unknown[] {
  return [KEPT, { of: name }, 'unknown', String(index)];
}

/** Stores the lines that the placeholders of a file stand for, and the text around the object. */
export function keepLines(root: ICAL.Component, lines: Kept): void {
  kept.set(root, lines);
}

/**
 * Forgets unreadable lines of an event that a new value replaces.
 * @param names of properties, in lower case
 */
export function dropKept(component: ICAL.Component, names: readonly string[]): void {
  for (const property of component.getAllProperties(KEPT))
    if (names.includes(property.getFirstParameter('of') ?? '')) component.removeProperty(property);
}

const PLACEHOLDER = /^X-CARILLON-KEPT(?:;[^:\r\n]*)?:(\d+)$/i;

/** The text of a file, with its unreadable lines as they were. Lines end with CRLF. */
export function fileText(root: ICAL.Component): string {
  const { lines, before, after } = kept.get(root) ?? { lines: [], before: '', after: '' };
  const written = root
    .toString()
    .split('\r\n')
    .map((line) => lines[Number(PLACEHOLDER.exec(line)?.[1] ?? NaN)] ?? line);
  return [before, ...written, after].filter((line) => line !== '').join('\r\n') + '\r\n';
}

/** Adds a warning about an event, or about the whole file if `component` is its root. */
export function warn(component: ICAL.Component | null | undefined, text: string): void {
  if (!component) return;
  const known = warnings.get(component) ?? new Set();
  warnings.set(component, known);
  if (known.size < MOST_WARNINGS) known.add(text.slice(0, LONGEST_WARNING).toWellFormed());
}

/** Warnings about an event and about its file: what is left out, in plain words. */
export function warningsOf(event: ICAL.Component, root: ICAL.Component): string[] {
  const all = [...(warnings.get(event) ?? []), ...(warnings.get(root) ?? [])];
  return [...new Set(all)].slice(0, MOST_WARNINGS);
}

/** A line for a warning: short, and without control characters. */
export function quoted(line: string): string {
  const plain = line.replaceAll(/\p{Cc}+/gu, ' ').trim();
  return `"${plain.length > 80 ? `${plain.slice(0, 80)}…` : plain}"`;
}

/** A line in the parts that were read of it, without line folds. */
export const lineOf = ({ name, parameters, value }: LineParts): string =>
  `${name.toUpperCase()}${parameters}:${value}`;
