import fs from 'node:fs';
import path from 'node:path';
import { anonymous, type Fact } from './anonymous.ts';

/** What was seen of one behaviour. */
export interface Observation {
  /** Stable name, for the stub that is to behave alike, such as `gmail-message-id`. */
  name: string;
  /** A question that is answered by yes or no. */
  question: string;
  /** `open`: it could not be tried, or the result says neither. */
  answer: 'yes' | 'no' | 'open';
  /** What was measured; or why it is open. Values have no personal data. */
  facts: Readonly<Record<string, Fact>>;
}

/** All that a run has seen, without personal data. */
export interface LiveRecord {
  provider: string;
  /** Day of the run in UTC. */
  day: string;
  /** Whether the run was against an emulator instead of the company. */
  isEmulated: boolean;
  observations: readonly Observation[];
}

/** The names of facts are our own; their values may be a company's. */
export const factsOf = (given: Readonly<Record<string, unknown>>): Record<string, Fact> =>
  Object.fromEntries(Object.entries(given).map(([name, value]) => [name, anonymous(value)]));

const sourceOf = ({ isEmulated }: LiveRecord): string =>
  isEmulated ? 'an EMULATOR, not the company' : 'a real account';

/** The record as text for an issue, in Markdown. */
export function recordText(record: LiveRecord): string {
  const { provider, day, observations } = record;
  const rows = observations.map(({ name, question, answer, facts }) => {
    const words = Object.entries(facts).map(([fact, value]) => `${fact}: ${String(value)}`);
    return `| ${name} | ${question} | ${answer} | ${words.join(', ') || '–'} |`;
  });
  return [
    `### Carillon live run: ${provider}, ${day}, ${sourceOf(record)}`,
    '',
    '| Behaviour | Question | Answer | Seen |',
    '|---|---|---|---|',
    ...rows,
  ].join('\n');
}

/**
 * Writes the record as JSON.
 * @param folder where to write it
 * @returns the path of the file, `live-<provider>-<day>.json`. A file of the same day is replaced
 */
export function writeRecord(record: LiveRecord, folder: string): string {
  const file = path.join(folder, `live-${record.provider}-${record.day}.json`);
  fs.writeFileSync(file, `${JSON.stringify(record, null, 2)}\n`);
  return file;
}
