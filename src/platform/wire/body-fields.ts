import type { ZodType } from 'zod';
import { definitionOf } from './schema-fields.ts';

/**
 * What a schema knows of a value: the fields of an object, the entries of a list. Where it is
 * absent, every value is fine: texts and numbers, and objects whose keys the client chooses.
 */
export interface BodyShape {
  /** Known fields of an object. */
  fields?: Map<string, BodyShape | undefined>;
  /** Further fields, which have no effect and are not reported. */
  tolerated?: Set<string>;
  /** Entries of a list. */
  items?: BodyShape;
  /** Shapes of which one field chooses, by the value of this field. */
  variants?: { field: string; shapes: Map<unknown, BodyShape> };
}

/** A field of a request that has no effect. */
export interface UnknownField {
  /** Names and indexes that lead to its object. */
  place: string[];
  name: string;
  /** The fields that its object may have. */
  known: readonly string[];
}

/**
 * Reports fields that have no effect in the response, as the headers of unknown fields do.
 * @throws {InvalidInputError} if the server refuses requests with such fields
 */
export type ReportUnknown = (fields: readonly UnknownField[]) => void;

function variantsOf(field: string, options: readonly ZodType[]): BodyShape {
  const shapes = new Map<unknown, BodyShape>();
  for (const option of options) {
    const shape = bodyShape(option);
    const choosing = definitionOf(option).shape?.[field];
    for (const value of (choosing && definitionOf(choosing).values) ?? [])
      if (shape) shapes.set(value, shape);
  }
  return { variants: { field, shapes } };
}

/**
 * The shape of a value that fits one of several schemas: it may have the fields of all. Where one
 * takes any keys, as for an empty object, only those of the others have an effect.
 */
function merged(options: readonly ZodType[]): BodyShape | undefined {
  const shapes = options.map(bodyShape).filter((shape) => shape !== undefined);
  if (shapes.length < 2) return shapes[0];
  // Choices within choices: no request has them, and a merged shape would not know all fields.
  if (shapes.some(({ variants }) => variants)) return undefined;
  return {
    fields: new Map(shapes.flatMap(({ fields = [] }) => [...fields])),
    items: shapes.find(({ items }) => items)?.items,
  };
}

/** Derives what the schema of a body knows. Takes microseconds; do it once for each endpoint. */
export function bodyShape(schema: ZodType): BodyShape | undefined {
  const {
    type,
    shape,
    element,
    options,
    discriminator,
    innerType,
    in: input,
    out,
  } = definitionOf(schema);
  if (shape)
    return {
      fields: new Map(Object.entries(shape).map(([name, field]) => [name, bodyShape(field)])),
    };
  if (element) {
    const items = bodyShape(element);
    return items && { items };
  }
  if (options) return discriminator ? variantsOf(discriminator, options) : merged(options);
  if (type === 'pipe' && input && out)
    return bodyShape(definitionOf(input).type === 'transform' ? out : input);
  return innerType && bodyShape(innerType);
}

/**
 * Adds a field that has no effect and is not reported.
 * @param path names that lead to the field, without the indexes of lists
 */
export function tolerate(
  shape: BodyShape | undefined,
  [name = '', ...rest]: readonly string[],
): void {
  if (!shape) return;
  if (shape.items) return tolerate(shape.items, [name, ...rest]);
  for (const variant of shape.variants?.shapes.values() ?? []) tolerate(variant, [name, ...rest]);
  if (rest.length > 0) return tolerate(shape.fields?.get(name), rest);
  (shape.tolerated ??= new Set()).add(name);
}

/** The walk through one body: what it has found, and how many of these it may find. */
class Search {
  readonly found: UnknownField[] = [];
  readonly #seen = new Map<BodyShape, Set<string>>();

  constructor(private readonly most: number) {}

  walk(value: unknown, shape: BodyShape): void {
    if (typeof value !== 'object' || value === null) return;
    if (Array.isArray(value)) {
      if (shape.items)
        for (let index = 0; index < value.length; index += 1)
          this.#descend(value[index], shape.items, index);
      return;
    }
    const { variants } = shape;
    if (variants) {
      const chosen = variants.shapes.get((value as Record<string, unknown>)[variants.field]);
      if (chosen) this.walk(value, chosen);
    } else if (shape.fields)
      this.#walkObject(value as Record<string, unknown>, shape, shape.fields);
  }

  #walkObject(
    value: Record<string, unknown>,
    shape: BodyShape,
    fields: NonNullable<BodyShape['fields']>,
  ): void {
    for (const name in value) {
      const field = fields.get(name);
      if (field) this.#descend(value[name], field, name);
      else if (!fields.has(name) && !shape.tolerated?.has(name)) this.#add(name, shape, fields);
    }
  }

  /** Adds the path on the way back, so that a body without unknown fields costs nothing more. */
  #descend(value: unknown, shape: BodyShape, key: string | number): void {
    const before = this.found.length;
    this.walk(value, shape);
    for (let at = before; at < this.found.length; at += 1)
      this.found[at]?.place.unshift(String(key));
  }

  /** A field that many entries of a list have is found once. */
  #add(name: string, shape: BodyShape, fields: NonNullable<BodyShape['fields']>): void {
    if (this.found.length === this.most) return;
    const seen = this.#seen.get(shape) ?? new Set();
    if (seen.has(name)) return;
    this.#seen.set(shape, seen.add(name));
    this.found.push({ place: [], name, known: [...fields.keys()] });
  }
}

/**
 * Finds the fields of a body that its schema does not know, in one walk over the known fields.
 * @param most number of fields after which no further one is returned
 */
export function unknownFields(body: object, shape: BodyShape, most: number): UnknownField[] {
  const search = new Search(most);
  search.walk(body, shape);
  return search.found;
}
