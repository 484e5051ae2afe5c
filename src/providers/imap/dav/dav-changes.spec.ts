import { collectionChanges } from './dav-changes.ts';
import { CARD_OBJECTS } from './calendars/dav-objects.ts';
import { DavAnswerTooLongError } from './dav-allowance.ts';
import type { DavSession } from './dav-session.ts';

const MIB = 1024 * 1024;
const BOOK = '/a/book/';

/**
 * A server that reports neither changes nor a version of the whole collection. Its responses are
 * limited to 32 MiB.
 * @param unlisted objects that its lists lack
 */
function serverWith(objects: Readonly<Record<string, number>>, unlisted = new Set<string>()) {
  const session: Pick<DavSession, 'pathOf' | 'propfind' | 'report'> = {
    pathOf: (href = '') => href,
    propfind: (_path, _props, depth) => {
      const paths =
        depth === '0'
          ? [BOOK]
          : [BOOK, ...Object.keys(objects).filter((one) => !unlisted.has(one))];
      return Promise.resolve(
        paths.map((href) => ({
          href,
          status: 200,
          ok: true,
          props: { getetag: href === BOOK ? {} : '"1"' },
        })),
      );
    },
    report: (_path, body) => {
      const { 'addressbook-multiget': asked } = body as Record<string, { 'd:href': string[] }>;
      if (!asked) return Promise.resolve({ resources: [], token: null, hasRefusals: false });
      const paths = asked['d:href'];
      const total = paths.reduce((sum, path) => sum + (objects[path] ?? 0), 0);
      if (total > 32 * MIB) return Promise.reject(new DavAnswerTooLongError());
      const resources = paths.map((href) => {
        const size = objects[href];
        if (size === undefined) return { href, status: 404, ok: false, props: {} };
        const props = { getetag: '"1"', addressData: 'x'.repeat(size) };
        return { href, status: 200, ok: true, props };
      });
      return Promise.resolve({ resources, token: null, hasRefusals: false });
    },
  };
  return (cursor: string | null, limit = 100) =>
    collectionChanges(session as DavSession, BOOK, CARD_OBJECTS, cursor, limit);
}

describe('the changes of a collection', () => {
  it('start from the beginning only once, even if the collection is empty', async () => {
    const list = serverWith({});
    const first = await list(null);
    expect(first).toMatchObject({ changed: [], present: [], more: false });
    expect(await list(first.cursor)).toMatchObject({ changed: [], present: null, more: false });
  });

  it('remove an object that a list lacks only if the server does not find it either', async () => {
    const [a, b] = [`${BOOK}a.vcf`, `${BOOK}b.vcf`];
    const objects: Record<string, number> = { [a]: 10, [b]: 10 };
    const unlisted = new Set<string>();
    const list = serverWith(objects, unlisted);
    const { cursor } = await list(null);
    unlisted.add(a);
    await expect(list(cursor)).rejects.toMatchObject({ code: 'temporary' });
    delete objects[a];
    expect(await list(cursor)).toMatchObject({ removed: [a], present: null });
  });

  it('remove nothing if the list is empty: the caller lists the collection again', async () => {
    const objects = { [`${BOOK}a.vcf`]: 10, [`${BOOK}b.vcf`]: 10 };
    const unlisted = new Set<string>();
    const list = serverWith(objects, unlisted);
    const { cursor } = await list(null);
    for (const one of Object.keys(objects)) unlisted.add(one);
    const emptied = await list(cursor);
    expect(emptied).toMatchObject({ changed: [], removed: [], present: [], more: false });
    unlisted.clear();
    expect((await list(emptied.cursor)).changed).toHaveLength(2);
  });

  it('come in pages that fit in memory, with each object once and without objects that are too large', async () => {
    const sizes = Array.from({ length: 30 }, (_each, index) => [
      `${BOOK}${index + 10}.vcf`,
      (index === 5 ? 40 : 5) * MIB,
    ]);
    const list = serverWith(Object.fromEntries(sizes) as Record<string, number>);
    const [found, tooLarge]: string[][] = [[], []];
    for (let cursor: string | null = null, more = true; more;) {
      const page = await list(cursor);
      expect(page.changed.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThanOrEqual(
        64 * MIB,
      );
      found?.push(...page.changed.map(({ path }) => path));
      tooLarge?.push(...page.unread.map(({ path }) => path));
      ({ cursor, more } = page);
    }
    expect([found?.length, new Set(found).size, tooLarge]).toEqual([29, 29, [`${BOOK}15.vcf`]]);
  });
});
