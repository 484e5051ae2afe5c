import { pagesOf } from './pages.ts';

interface Page {
  items: number[];
  next?: string | null;
}

/** All items, and the tokens that were asked for. */
async function readAll(pageAt: (next: string | undefined, asked: number) => Page) {
  const asked: (string | undefined)[] = [];
  const items: number[] = [];
  const pages = pagesOf(
    'Acme',
    async (next) => {
      asked.push(next);
      return pageAt(next, asked.length);
    },
    (page) => page.next,
  );
  const read = async () => {
    for await (const page of pages) items.push(...page.items);
    return null;
  };
  const error: unknown = await read().catch((reason: unknown) => reason);
  return { asked, items, error };
}

describe('pagesOf', () => {
  it.each([
    ['is absent', {}],
    ['is null', { next: null }],
    ['is empty', { next: '' }],
  ])('ends at the page whose next page %s', async (_case, end) => {
    const all = await readAll((next) =>
      next === undefined ? { items: [1, 2], next: 'b' } : { items: [3], ...end },
    );
    expect(all).toEqual({ asked: [undefined, 'b'], items: [1, 2, 3], error: null });
  });

  it('refuses a page that names itself as the next one', async () => {
    const { asked, error } = await readAll(() => ({ items: [1], next: 'same' }));
    expect(asked).toEqual([undefined, 'same']);
    expect(error).toMatchObject({ code: 'temporary', message: 'Acme: a list does not end' });
  });

  it('refuses a list that always names another page, after 10,000 pages', async () => {
    const { asked, error } = await readAll((_next, page) => ({ items: [], next: String(page) }));
    expect(asked).toHaveLength(10_000);
    expect(error).toMatchObject({ code: 'temporary', message: 'Acme: a list does not end' });
  });
});
