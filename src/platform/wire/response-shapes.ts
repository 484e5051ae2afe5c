import { z, type ZodType } from 'zod';
import { countView, idsView } from './wire.schema.ts';

/** Key in a schema of the document: the conditions of its other shapes, in their order. */
export const OTHER_SHAPES = 'x-other-shapes';

/**
 * A response whose shape depends on the request. The OpenAPI document gives the response the usual
 * shape, so that generated clients have one type, and lists the others with their conditions.
 * @param others for each condition (Markdown, follows "With") the shape that it causes
 */
export function withOtherShapes<U extends ZodType, O extends ZodType>(
  usual: U,
  others: Readonly<Record<string, O>>,
) {
  return z
    .union([usual, ...Object.values(others)] as [U, ...O[]])
    .meta({ [OTHER_SHAPES]: Object.keys(others) });
}

/** The response of a list: objects, or with `view` their ids or their number. */
export function listByView<I extends ZodType>(item: I) {
  return withOtherShapes(z.array(item), { '`view=ids`': idsView, '`view=count`': countView });
}
