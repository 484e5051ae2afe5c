import { z } from 'zod';
import { pageQuery, viewQuery } from '../../platform/wire/pagination.schema.ts';
import { messageView } from '../messages/messages.schema.ts';
import { threadView } from '../threads/threads.schema.ts';

/** Maximum length of a query, in UTF-16 units. */
const LONGEST = 1_000;
/** Default of the official clients. */
const DEFAULT_LIMIT = 40;

/** Query of `GET /messages/search` and `GET /threads/search`. */
export const searchQuery = z.object({
  q: z
    .string({ error: (issue) => (issue.input === undefined ? 'is required' : 'must be one text') })
    .regex(/\S/u, 'must not be empty')
    .max(LONGEST, `must not be longer than ${LONGEST} characters`)
    .describe('Words and operators, described in docs/search.md'),
  limit: pageQuery.limit.unwrap().default(DEFAULT_LIMIT).describe('Page size, 0 to 1000'),
  offset: pageQuery.offset,
  view: viewQuery(['expanded']),
});
export type SearchQueryString = z.infer<typeof searchQuery>;

/** Response of `GET /messages/search`. */
export const foundMessages = z.array(messageView);

/** Response of `GET /threads/search`. */
export const foundThreads = z.array(threadView);
