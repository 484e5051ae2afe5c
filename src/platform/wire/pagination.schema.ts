import { z } from 'zod';
import { integerLike } from './wire.schema.ts';

const MOST_RESOURCES = 1_000;

const limit = () =>
  integerLike({
    min: 0,
    max: MOST_RESOURCES,
    tooSmall: 'Limit parameter must be nonnegative.',
    tooLarge: `Cannot request more than ${MOST_RESOURCES} resources at once.`,
  });
const offset = () => integerLike({ min: 0, tooSmall: 'Offset parameter must be nonnegative.' });

/** `limit` and `offset` of the main address: default 100, at most 1000. */
export const pageQuery = {
  limit: limit().default(100).describe('Page size, 0 to 1000'),
  offset: offset().default(0).describe('How many items to skip'),
};

/** `limit` and `offset` of the integrations address: default 10, at most 1000. */
export const betaPageQuery = {
  ...pageQuery,
  limit: limit().default(10).describe('Page size, 0 to 1000'),
};

/**
 * The `view` parameter. `ids` returns an array of ids, `count` an object `{count}` that ignores
 * paging. `expanded` returns more fields, for resources that support it.
 */
export function viewQuery<const V extends readonly [string, ...string[]]>(views: V) {
  return z
    .enum(views, { error: (issue) => `Unknown view type ${String(issue.input).slice(0, 50)}.` })
    .optional();
}

/**
 * The `view` parameter of lists whose objects have no further fields. `expanded` changes nothing
 * there, because clients offer it for every list.
 */
export function listViewQuery() {
  return viewQuery(['ids', 'count', 'expanded'])
    .transform((view) => (view === 'expanded' ? undefined : view))
    .describe('`expanded` returns the same as no view');
}
