import { forTerminal } from '../../platform/base/text/plain-text.ts';
import type { ApiDocument, Operation, Schema } from './document.ts';
import type { Action } from './groups/group.ts';

/** Words in a column of help. */
const NAME_WIDTH = 28;

/** The kind of a value, such as `list of { email, name }`. */
function kindOf(document: ApiDocument, schema: Schema | undefined, isInner = false): string {
  const choices = document.choices(schema ?? {});
  const values = choices.flatMap((one) => one.enum ?? []);
  if (values.length > 0) return values.map(String).join(' | ');
  const item = choices.find(({ items }) => items)?.items;
  if (item) return isInner ? 'list' : `list of ${kindOf(document, item, true)}`;
  const fields = Object.keys(Object.assign({}, ...choices.map((one) => one.properties ?? {})));
  if (fields.length > 0) return `{ ${fields.join(', ')} }`;
  const types = choices.flatMap((one) => one.type ?? []);
  // Numbers and booleans are also accepted as strings.
  return types.find((type) => type !== 'string') ?? types[0] ?? 'value';
}

const line = (name: string, ...parts: (string | undefined)[]): string => {
  const text = parts.filter((part) => part !== undefined && part !== '').join('; ');
  return name.length < NAME_WIDTH
    ? `  ${name.padEnd(NAME_WIDTH)}${text}`
    : `  ${name}\n  ${''.padEnd(NAME_WIDTH)}${text}`;
};

const describedIn = (choices: readonly Schema[]): string | undefined =>
  choices.find(({ description }) => description !== undefined)?.description;

function filterLines(document: ApiDocument, operation: Operation): string[] {
  return document
    .filters(operation)
    .map(({ name, schema, description, required }) =>
      line(
        `--${name}=…`,
        kindOf(document, schema),
        description ?? describedIn(document.choices(schema ?? {})),
        required ? 'required' : undefined,
      ),
    );
}

function fieldLines(document: ApiDocument, body: Schema | undefined): string[] {
  const choices = document.choices(body ?? {});
  const required = new Set(choices.flatMap((one) => one.required ?? []));
  const fields = Object.assign({}, ...choices.map((one) => one.properties ?? {})) as Record<
    string,
    Schema
  >;
  return Object.entries(fields).map(([name, schema]) =>
    line(
      name,
      kindOf(document, schema),
      describedIn(document.choices(schema)),
      required.has(name) ? 'required' : undefined,
    ),
  );
}

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** Names that a placeholder of the arguments has in an example. */
function wordsOf(action: Action): string[] {
  const words = action.id === 'required' ? ['<id>'] : [];
  if (action.partId) words.push(`<${action.partId}>`);
  if (action.transfer === 'upload') words.push('report.pdf');
  if (action.transfer === 'download') words.push('file.bin');
  return words;
}

function exampleOf(
  document: ApiDocument,
  command: string,
  action: Action,
  operation: Operation,
): string {
  const body = action.body ? document.bodyExample(operation) : undefined;
  const filters = document.filters(operation);
  const isList = action.verb === 'GET' && filters.some(({ name }) => name === 'limit');
  const needed = filters.filter(({ required }) => required);
  return [
    command,
    ...wordsOf(action),
    ...needed.map(
      ({ name, example, schema }) => `--${name}=${String(example ?? schema?.example ?? '…')}`,
    ),
    ...(isList ? ['--limit=5', '--output=table'] : []),
    ...(body === undefined ? [] : [`--body=${quoted(JSON.stringify(body))}`]),
  ].join(' ');
}

const section = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : ['', title, ...lines];

/**
 * The help of a method from the OpenAPI document: its filters, the fields of its body, and an
 * example.
 * @param command the command line without arguments, such as `carillon-api events get`
 */
export function methodHelp(document: ApiDocument, command: string, action: Action): string {
  const operation = document.operationOf(action);
  if (!operation) return '';
  const body = action.body ? document.body(operation) : undefined;
  const text = [
    ...section('Filters:', filterLines(document, operation)),
    ...section('Fields of the body:', fieldLines(document, body)),
    ...section('Example:', [`  ${exampleOf(document, command, action, operation)}`]),
  ].join('\n');
  return forTerminal(text);
}
