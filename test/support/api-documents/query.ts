import { type Api, type FoundOperation, type Parameter, type Schema } from './documents.ts';

/** Parameters that the manuals describe and the documents do not. */
const UNDOCUMENTED: Record<Api, readonly { path: RegExp; names: readonly string[] }[]> = {
  gmail: [],
  calendar: [],
  people: [],
  graph: [
    // Links to the next page and to the next round of changes carry their own state.
    { path: /./, names: ['$skiptoken', '$deltatoken', '$expand'] },
    { path: /delta\(\)$/, names: ['changeType'] },
    { path: /calendarView\/microsoft\.graph\.delta/, names: ['startDateTime', 'endDateTime'] },
    { path: /instances/, names: ['startDateTime', 'endDateTime'] },
    {
      path: /(mailFolders|childFolders)(\/microsoft\.graph\.delta\(\))?$/,
      names: ['includeHiddenFolders'],
    },
  ],
};
/** The conversion of Google's document lost that these are times. */
const TIMES = ['timeMin', 'timeMax', 'updatedMin'];
const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

/** Returns a sentence for each parameter of a query that the operation does not document so. */
export function queryProblems(
  api: Api,
  operation: FoundOperation,
  query: URLSearchParams,
): string[] {
  const documented = new Map(operation.query.map((parameter) => [parameter.name, parameter]));
  const others = UNDOCUMENTED[api]
    .filter(({ path }) => path.test(operation.template))
    .flatMap(({ names }) => names);
  const problems: string[] = [];
  for (const name of new Set(query.keys())) {
    const parameter = documented.get(name);
    if (parameter) problems.push(...valueProblems(parameter, query.getAll(name)));
    else if (!others.includes(name)) problems.push(`the query has the unknown parameter ${name}`);
  }
  const continues = query.has('$skiptoken') || query.has('$deltatoken');
  for (const { name, required } of operation.query)
    if (required && !query.has(name) && !continues)
      problems.push(`the query has no parameter ${name}, which is required`);
  return problems;
}

function valueProblems({ name, schema = {}, explode }: Parameter, values: string[]): string[] {
  if (schema.type !== 'array' || !schema.items) {
    if (values.length > 1) return [`the query has ${name} more than once`];
    return values.flatMap((value) => scalarProblems(name, schema, value));
  }
  const items = schema.items;
  const parts = explode === false ? values.flatMap(listed) : values;
  return parts.flatMap((value) => scalarProblems(name, items, value));
}

/**
 * Splits at commas outside of parentheses. Only the property's name is left of each part.
 * Properties of a narrower type, which the documents do not list, are left out.
 */
function listed(value: string): string[] {
  return value
    .replace(/\([^)]*\)/g, '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => !part.startsWith('microsoft.graph.'))
    .map((part) => part.replace(/\/\w+/, ''));
}

function scalarProblems(name: string, schema: Schema, value: string): string[] {
  const { type, enum: allowed, minimum = -Infinity, maximum = Infinity, format } = schema;
  const problem = (text: string) => [`the query's ${name} ${text}, not "${value}"`];
  if (allowed && !allowed.includes(value)) return problem(`must be one of ${allowed.join(', ')}`);
  if (type === 'boolean' && !/^(true|false)$/.test(value)) return problem('must be true or false');
  if (type === 'integer' && !/^-?\d+$/.test(value)) return problem('must be a whole number');
  if (type === 'integer' && (Number(value) < minimum || Number(value) > maximum))
    return problem(`must be between ${minimum} and ${maximum}`);
  if ((format === 'date-time' || TIMES.includes(name)) && !DATE_TIME.test(value))
    return problem('must be a time with an offset');
  return [];
}
