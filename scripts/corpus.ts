import fs from 'node:fs';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { format } from 'oxfmt';
import { answerTo, type Answers, type MailAnswer } from '../test/support/corpus/answers.ts';
import { ENDINGS, type Kind, KINDS } from '../test/support/corpus/corpus.ts';
import { isCalendarPart } from '../src/formats/ical/itip.ts';

const USAGE = `Usage: npm run -s corpus -- [--write] <file>...

Prints as JSON what the API answers about files: messages (.eml), calendar objects (.ics) and cards
(.vcf). Needs no server and no database. "-" reads standard input.

  --write   writes <name>.json beside files of test/corpus, as a start that you correct
  --help    shows this text
`;
/** Larger files are refused, as in a sync pass. Bytes. */
const MOST_BYTES = 64 * 2 ** 20;
/** Longer contents of files are cut in what is printed. */
const MOST_PRINTED = 1_000;

/** A message for the user; the command ends with exit code 1. */
class InputError extends Error {}

async function main(): Promise<void> {
  const { values, positionals } = readArguments();
  if (values.help) return void process.stdout.write(USAGE);
  if (positionals.length === 0) throw new InputError(`Name at least one file.\n\n${USAGE}`);
  if (values.write) {
    for (const file of positionals) process.stdout.write(`wrote ${await writeCase(file)}\n`);
    return;
  }
  const answers: Record<string, unknown> = {};
  for (const file of positionals) {
    const bytes = await contentOf(file);
    answers[file] = printable(kindOf(file, bytes), bytes);
  }
  const [first, ...others] = Object.values(answers);
  process.stdout.write(`${JSON.stringify(others.length > 0 ? answers : first, null, 2)}\n`);
}

function readArguments() {
  const options = { write: { type: 'boolean' }, help: { type: 'boolean' } } as const;
  try {
    return parseArgs({ options, allowPositionals: true });
  } catch (error) {
    throw new InputError(`${messageOf(error)}.\n\n${USAGE}`, { cause: error });
  }
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

async function contentOf(file: string): Promise<Buffer> {
  const bytes = file === '-' ? await buffer(process.stdin) : readFile(file);
  if (bytes.length === 0) throw new InputError(`${file}: the file is empty.`);
  if (bytes.length > MOST_BYTES)
    throw new InputError(`${file}: the file is larger than ${MOST_BYTES} bytes.`);
  return bytes;
}

function readFile(file: string): Buffer {
  try {
    return fs.readFileSync(file);
  } catch (error) {
    throw new InputError(`${file}: cannot be read: ${messageOf(error)}.`, { cause: error });
  }
}

/** The kind of a file, by its ending, else by its beginning. */
function kindOf(file: string, bytes: Buffer): Kind {
  const byName = KINDS.find((kind) => file.toLowerCase().endsWith(ENDINGS[kind]));
  if (byName) return byName;
  const start = bytes
    .subarray(0, 1_000)
    .toString('latin1')
    .replace(/^\xef\xbb\xbf/, '')
    .trimStart();
  if (/^BEGIN:VCALENDAR/i.test(start)) return 'calendars';
  if (/^BEGIN:VCARD/i.test(start)) return 'contacts';
  if (/^[!-9;-~]+[ \t]*:/.test(start)) return 'mail';
  throw new InputError(
    `${file}: must be a message (.eml), a calendar object (.ics) or a card (.vcf).`,
  );
}

/** An answer with short contents, and with the calendar objects within a message. */
function printable(kind: Kind, bytes: Buffer): object {
  if (kind !== 'mail') return answerTo[kind](bytes);
  const answer = answerTo.mail(bytes);
  const calendars = calendarsIn(answer);
  const files = answer.files.map(({ bytes: content, ...file }) => ({
    ...file,
    bytes: shortened(String(content)),
  }));
  return { ...answer, files, ...(calendars.length > 0 ? { calendars } : {}) };
}

const shortened = (content: string) =>
  content.length > MOST_PRINTED
    ? `${content.slice(0, MOST_PRINTED)}… (${content.length} bytes)`
    : content;

const calendarsIn = ({ files }: MailAnswer): Answers['calendars'][] =>
  files
    .filter(({ content_type, filename }) => isCalendarPart(String(content_type), String(filename)))
    .map(({ bytes }) => answerTo.calendars(Buffer.from(String(bytes), 'latin1')));

/** Writes the JSON of a new case and returns its path. The case fails until it says why. */
async function writeCase(file: string): Promise<string> {
  const { dir, name, ext } = path.parse(path.resolve(file));
  const kind = KINDS.find((one) => dir.endsWith(path.join('corpus', one)) && ENDINGS[one] === ext);
  if (!kind)
    throw new InputError(
      `${file}: must be corpus/mail/<name>.eml, corpus/calendars/<name>.ics or corpus/contacts/<name>.vcf.`,
    );
  const target = path.join(dir, `${name}.json`);
  if (fs.existsSync(target))
    throw new InputError(`${target}: exists already; delete it to have it written again.`);
  const answer = answerTo[kind](await contentOf(file));
  const text = JSON.stringify({ why: '', ...withoutEmpty(answer) });
  const { code } = await format(target, text, { printWidth: 100 });
  fs.writeFileSync(target, code);
  return target;
}

/** The fields of objects that say something. Lists of an answer itself stay, even if empty. */
function withoutEmpty(answer: object): object {
  const isEmpty = (value: unknown) =>
    value === null || value === '' || (Array.isArray(value) && value.length === 0);
  const shorter = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(shorter);
    if (typeof value !== 'object' || value === null) return value;
    const fields = Object.entries(value).filter(
      ([key, one]) => key === 'warnings' || !isEmpty(one),
    );
    return Object.fromEntries(fields.map(([key, one]) => [key, shorter(one)]));
  };
  return Object.fromEntries(Object.entries(answer).map(([key, value]) => [key, shorter(value)]));
}

try {
  await main();
} catch (error) {
  if (!(error instanceof InputError)) throw error;
  process.stderr.write(`${error.message.trimEnd()}\n`);
  process.exitCode = 1;
}
