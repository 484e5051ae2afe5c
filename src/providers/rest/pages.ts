import { ProviderError } from '../../platform/base/errors/provider-error.ts';

/** Most pages of one list: a server that always names a next page must not keep us busy. */
const MOST_PAGES = 10_000;

/**
 * Reads the pages of a list one after the other.
 * @param service name of the provider in error texts
 * @param read reads the page with this token or link; `undefined` for the first page
 * @param nextOf the token or link of the next page, as the page names it. Empty at the end
 * @throws {ProviderError} `temporary` if the list does not end: it has more than 10,000 pages, or a
 *   page names itself as the next one
 */
export async function* pagesOf<Page>(
  service: string,
  read: (next: string | undefined) => Promise<Page>,
  nextOf: (page: Page) => string | null | undefined,
): AsyncGenerator<Page> {
  let next: string | undefined;
  for (let pages = 0; pages < MOST_PAGES; pages++) {
    const page = await read(next);
    yield page;
    const named = nextOf(page) || undefined;
    if (named === undefined) return;
    if (named === next) break;
    next = named;
  }
  throw new ProviderError('temporary', `${service}: a list does not end`);
}
