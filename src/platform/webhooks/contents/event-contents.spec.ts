import { EventContents, MOST_BYTES } from './event-contents.ts';

const stored = (id: string, account = 'ada', object = 'message') => {
  const data = { account_id: account, object, id, attributes: { thread_id: 't' }, metadata: null };
  return Buffer.from(
    JSON.stringify({ deltas: [{ type: `${object}.created`, object_data: data }] }),
  );
};
const dataOf = (body: Buffer | undefined) =>
  (JSON.parse(String(body)) as { deltas: [{ object_data: Record<string, unknown> }] }).deltas[0]
    .object_data;

describe('EventContents', () => {
  const contents = new EventContents();
  const reads: string[] = [];
  let size = 10;
  contents.register((account, object, ids) => {
    reads.push(`${account} ${object} ${ids.join()}`);
    const found = ids.filter((id) => !id.startsWith('gone'));
    const summary = { subject: 'Hi' };
    const full = { ...summary, body: 'x'.repeat(size) };
    const shown = (id: string) => ({ summary, full: id.startsWith('large') ? null : full });
    return Promise.resolve(new Map(found.map((id) => [id, shown(id)])));
  });
  beforeEach(() => {
    reads.length = 0;
    size = 10;
  });

  it('returns the stored bytes for ids, and reads nothing', async () => {
    const bodies = [stored('1')];
    expect(await contents.of('ids', bodies)).toBe(bodies);
    expect(reads).toEqual([]);
  });

  it('reads each kind of object of an account once', async () => {
    await contents.of('full', [
      stored('1'),
      stored('2'),
      stored('1'),
      stored('3', 'bo'),
      stored('4', 'ada', 'folder'),
    ]);
    expect(reads).toEqual(['ada message 1,2', 'bo message 3', 'ada folder 4']);
  });

  it('puts a summary beside the stored attributes, and the full object in their place', async () => {
    const [summary] = await contents.of('summary', [stored('1')]);
    expect(dataOf(summary)).toMatchObject({
      content: 'summary',
      attributes: { thread_id: 't', subject: 'Hi' },
    });
    const [full] = await contents.of('full', [stored('1')]);
    expect(dataOf(full)['attributes']).toEqual({ subject: 'Hi', body: 'xxxxxxxxxx' });
  });

  it('shows a summary of an object that was too large to be kept', async () => {
    const [large] = await contents.of('full', [stored('large')]);
    expect(dataOf(large)).toMatchObject({ content: 'summary', attributes: { subject: 'Hi' } });
  });

  it('keeps the stored attributes of an object that does not exist any more', async () => {
    const [gone] = await contents.of('full', [stored('gone')]);
    expect(dataOf(gone)).toMatchObject({ content: 'ids', attributes: { thread_id: 't' } });
  });

  it('replaces objects by their summaries where a hundred large ones would exceed 256 kB', async () => {
    size = 20_000;
    const bodies = await contents.of(
      'full',
      Array.from({ length: 100 }, (_, index) => stored(String(index))),
    );
    const kinds = bodies.map((body) => dataOf(body)['content']);
    expect(kinds.slice(0, 2)).toEqual(['full', 'full']);
    expect(kinds.at(-1)).toBe('summary');
    expect(kinds).not.toContain('ids');
    expect(Buffer.concat(bodies).length).toBeLessThanOrEqual(MOST_BYTES);
  });
});
