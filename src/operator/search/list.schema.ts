import { z, type ZodType } from 'zod';
import { fromUnixSeconds } from '../../platform/base/time/unix-seconds.ts';
import { DEFAULT_PAGE_ITEMS, MOST_PAGE_ITEMS } from '../../platform/database/page-token.ts';
import { integerLike, filterTime } from '../../platform/wire/wire.schema.ts';

/** `limit` and `page_token` of the lists of the admin API. */
export const tokenPageQuery = {
  limit: integerLike({ min: 1, max: MOST_PAGE_ITEMS })
    .default(DEFAULT_PAGE_ITEMS)
    .describe(`Page size, 1 to ${MOST_PAGE_ITEMS}`),
  page_token: z
    .string()
    .max(1_000)
    .optional()
    .describe('`next_page_token` of the page before, with the same filters'),
};

/** One page of a list: `{items, next_page_token}`. */
export const listOf = <T extends ZodType>(item: T) =>
  z.object({
    items: z.array(item).describe('Items of the page'),
    next_page_token: z.string().nullable().describe('Null on the last page'),
  });

/** An instant in Unix seconds, as a Date. */
export const instant = () => filterTime().transform(fromUnixSeconds);

/** Text of a filter, without spaces around it. */
export const filterText = (most: number) => z.string().trim().min(1).max(most);
