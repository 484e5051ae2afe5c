import fs from 'node:fs';
import path from 'node:path';
import { z } from 'zod';

/** Folder of the corpus. */
export const CORPUS = path.resolve(import.meta.dirname, '../../corpus');

/** Kinds of files: the folder of a kind, and how its files end. */
export const ENDINGS = { mail: '.eml', calendars: '.ics', contacts: '.vcf' } as const;
export type Kind = keyof typeof ENDINGS;
export const KINDS = Object.keys(ENDINGS) as Kind[];

/** The real servers that a calendar object or a card may be refused by. */
const DAV_SERVERS = ['radicale', 'xandikos'] as const;

/** Fields of an answer of the API, as far as the case is about them. */
const fields = z.record(z.string(), z.json());
const common = {
  /** What is right, and why: a sentence with its source, such as a section of an RFC. */
  why: z.string().min(20),
  /** Address of a public report about another program that had difficulties with such a file. */
  report: z.url().optional(),
};
const stored = {
  ...common,
  /** Servers that refuse to store such a file, each with the reason. */
  refused_by: z.partialRecord(z.enum(DAV_SERVERS), z.string()).optional(),
  /** Servers that change the file when they store it, each with what they change. */
  changed_by: z.partialRecord(z.enum(DAV_SERVERS), z.string()).optional(),
  /** A part of each sentence that `carillon mailbox failures` shows; absent: there is none. */
  failures: z.array(z.string()).optional(),
};

const SCHEMAS = {
  mail: z.strictObject({
    ...common,
    /** Why the message cannot get a large file; absent: it gets one, and is read by its parts. */
    small_only: z.string().optional(),
    message: fields.optional(),
    /** Text of the body without markup, with single spaces. */
    text: z.string().optional(),
    /** All files, in any order. In `bytes`, each character is a byte. */
    files: z
      .array(z.intersection(fields, z.object({ filename: z.string(), bytes: z.string() })))
      .optional(),
    /** Words that find the message. */
    finds: z.array(z.string()).optional(),
  }),
  calendars: z.strictObject({
    ...stored,
    /** Series, changed instances and single events, earliest first. */
    events: z.array(fields).optional(),
    /** Times of the first 20 events and instances within a year of the first start. */
    instances: z.array(z.string()).optional(),
  }),
  contacts: z.strictObject({ ...stored, contacts: z.array(fields) }),
};

export type Expected<K extends Kind> = z.infer<(typeof SCHEMAS)[K]>;

/** A file and what the API answers about it. */
export interface CorpusCase<K extends Kind> {
  /** Name of the file without its ending. */
  name: string;
  bytes: Buffer;
  expected: Expected<K>;
}

/** The cases of a kind, and what is wrong in its folder. */
export interface CorpusFolder<K extends Kind> {
  cases: CorpusCase<K>[];
  /** Sentences that name the file. */
  problems: string[];
}

/**
 * Reads all cases of a kind. A file without its JSON, a JSON without its file, and a JSON that
 * cannot be read or has an unknown key are problems, and no cases.
 */
export function readCorpus<K extends Kind>(kind: K, folder = CORPUS): CorpusFolder<K> {
  const directory = path.join(folder, kind);
  const all = new Set(fs.readdirSync(directory));
  const found: CorpusFolder<K> = { cases: [], problems: [] };
  for (const file of [...all].toSorted()) {
    const name = path.parse(file).name;
    const [ending, other] = file.endsWith('.json')
      ? ['.json', ENDINGS[kind]]
      : [ENDINGS[kind], '.json'];
    if (!file.endsWith(ending))
      found.problems.push(`${kind}/${file}: its name must end in ${ending}`);
    else if (!all.has(name + other))
      found.problems.push(`${kind}/${file}: ${name}${other} is missing`);
    else if (ending === '.json') {
      const parsed = readExpected(kind, path.join(directory, file));
      if (typeof parsed === 'string') found.problems.push(`${kind}/${file}: ${parsed}`);
      else {
        const bytes = fs.readFileSync(path.join(directory, name + ENDINGS[kind]));
        found.cases.push({ name, bytes, expected: parsed });
      }
    }
  }
  return found;
}

function readExpected<K extends Kind>(kind: K, file: string): Expected<K> | string {
  try {
    const result = SCHEMAS[kind].safeParse(JSON.parse(fs.readFileSync(file, 'utf8')));
    return result.success ? (result.data as Expected<K>) : z.prettifyError(result.error);
  } catch (error) {
    if (error instanceof SyntaxError) return error.message;
    throw error;
  }
}
