import type { ZodType } from 'zod';

/** The query parameters that a request knows: name, and whether the parameter is a list. */
export type QueryFields = ReadonlyMap<string, { isList: boolean }>;

/** The part of a zod definition that tells what a schema accepts. */
export interface Definition {
  type: string;
  /** Of `optional`, `nullable`, `default` and `prefault`. */
  innerType?: ZodType;
  /** Of `pipe`: the schema of the input. */
  in?: ZodType;
  /** Of `pipe`: the schema of the output. */
  out?: ZodType;
  /** Of `union`. */
  options?: readonly ZodType[];
  /** Of a union in which one field tells which option applies: this field. */
  discriminator?: string;
  /** Of `object`. */
  shape?: Readonly<Record<string, ZodType>>;
  /** Of `array`: the schema of its entries. */
  element?: ZodType;
  /** Of `literal`. */
  values?: readonly unknown[];
}

/** What a schema consists of. */
export const definitionOf = (schema: ZodType): Definition => schema.def as unknown as Definition;

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
const refused = new WeakMap<ZodType, Refused>();

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
 * Marks the schema of an OAuth request. OAuth servers refuse repeated parameters, and ignore
 * parameters that they do not know (RFC 6749 3.1, 3.2).
 */
export function oauthRequest<T extends ZodType>(schema: T): T {
  oauth.add(schema);
  return schema;
}

/** Whether `oauthRequest` has marked the schema. */
export function isOauthRequest(schema: ZodType): boolean {
  return oauth.has(schema);
}

/** Which unknown fields of a body are refused even if the server is not strict. */
export type Refused = 'misspelt' | 'all';

/**
 * Marks the schema of a body some of whose unknown fields are always refused, because ignoring
 * them would do harm.
 * @param which the misspelt ones, or all
 */
export function refusesUnknown<T extends ZodType>(schema: T, which: Refused): T {
  refused.set(schema, which);
  return schema;
}

/** What `refusesUnknown` has said about the schema. */
export function refusedUnknown(schema: ZodType): Refused | undefined {
  return refused.get(schema);
}
