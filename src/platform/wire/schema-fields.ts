import type { ZodType } from 'zod';

/** The query parameters that a request knows: name, and whether the parameter is a list. */
export type QueryFields = ReadonlyMap<string, { isList: boolean }>;

/** The part of a zod definition that the functions below read. */
interface Definition {
  type: string;
  /** Of `optional`, `nullable`, `default` and `prefault`. */
  innerType?: ZodType;
  /** Of `pipe`: the schema of the input. */
  in?: ZodType;
  /** Of `union`. */
  options?: readonly ZodType[];
  /** Of `object`. */
  shape?: Readonly<Record<string, ZodType>>;
}

const definitionOf = (schema: ZodType): Definition => schema.def as unknown as Definition;

/** Whether a schema accepts an array. */
function acceptsArray(schema: ZodType): boolean {
  const { type, innerType, in: input, options = [] } = definitionOf(schema);
  const inner = innerType ?? input;
  return type === 'array' || options.some(acceptsArray) || (inner ? acceptsArray(inner) : false);
}

function shapeOf(schema: ZodType): Readonly<Record<string, ZodType>> {
  const { shape, in: input, innerType } = definitionOf(schema);
  const inner = innerType ?? input;
  return shape ?? (inner ? shapeOf(inner) : {});
}

/** The names of the fields that an object schema knows. */
export function fieldNames(schema: ZodType): string[] {
  return Object.keys(shapeOf(schema));
}

const known = new WeakMap<ZodType, QueryFields>();
const oauth = new WeakSet<ZodType>();

/** The parameters of a query schema, which is an object or a transformed object. */
export function queryFields(schema: ZodType): QueryFields {
  const found = known.get(schema);
  if (found) return found;
  const fields = new Map(
    Object.entries(shapeOf(schema)).map(([name, field]) => [name, { isList: acceptsArray(field) }]),
  );
  known.set(schema, fields);
  return fields;
}

/**
 * Marks the query schema of an OAuth request. OAuth servers refuse repeated parameters, and ignore
 * parameters that they do not know (RFC 6749 3.1, 3.2).
 */
export function oauthQuery<T extends ZodType>(schema: T): T {
  oauth.add(schema);
  return schema;
}

/** Whether `oauthQuery` has marked the schema. */
export function isOauthQuery(schema: ZodType): boolean {
  return oauth.has(schema);
}
