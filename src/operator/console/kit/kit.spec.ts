import { html } from '../../../platform/pages/html.ts';
import { chart, type Chart } from './chart.ts';
import { count, counted, size } from './figures.ts';
import { address, listCount, pager, table } from './table.ts';
import { absolute, duration, relative } from './time.ts';

const now = new Date('2026-11-24T03:40:00Z');

describe('times of the console', () => {
  it.each([
    [0, 'now'],
    [-1_500, '1 s ago'],
    [-95_000, '1 min ago'],
    [-7_300_000, '2 h ago'],
    [3 * 86_400_000, 'in 3 d'],
  ])('of %d ms from now read "%s"', (ms, words) => {
    expect(relative(new Date(now.getTime() + ms), now)).toBe(words);
  });

  it('are absolute in UTC', () => {
    expect(absolute(now)).toBe('24 Nov 2026, 03:40:00 UTC');
  });

  it('show short lengths with a fraction of a second', () => {
    expect([duration(120), duration(2_400), duration(5_000), duration(45_000)]).toEqual([
      '120 ms',
      '2.4 s',
      '5 s',
      '45 s',
    ]);
  });
});

describe('figures of the console', () => {
  it('have groups of digits, units and nouns', () => {
    expect([count(1_284), counted(1, 'job'), counted(2, 'job')]).toEqual([
      '1,284',
      '1 job',
      '2 jobs',
    ]);
    expect([size(0), size(999), size(1_434), size(41.2 * 1024 ** 3)]).toEqual([
      '0 B',
      '999 B',
      '1.4 KiB',
      '41 GiB',
    ]);
  });
});

describe('a chart', () => {
  const of: Chart = {
    id: 'c',
    title: 'Sends',
    kind: 'bars',
    times: [now, new Date(now.getTime() + 60_000)],
    series: [
      { name: 'Sent', tone: 'good', values: [4, 0] },
      { name: 'Failed', tone: 'bad', values: [1, null] },
    ],
    show: count,
    headline: '4 messages',
    about: 'sent',
  };

  it('has a title, a description and its figures as a table', () => {
    const { text } = chart(of);
    expect(text).toContain('aria-labelledby="c-title c-desc"');
    expect(text).toContain('Highest value 5.');
    expect(text).toMatch(
      /<th scope="row">03:40<\/th>\s*<td class="number">\s*4\s*<\/td>\s*<td class="number">\s*1\s*</,
    );
    expect(text).not.toContain('<th scope="row">03:41');
  });

  it('interrupts a line where a value is missing', () => {
    const values = [1, null, 2, 2];
    const times = values.map((_, index) => new Date(now.getTime() + index * 60_000));
    const { text } = chart({
      ...of,
      kind: 'lines',
      times,
      series: [{ name: 'x', tone: 'busy', values }],
    });
    expect(/class="line-busy" d="([^"]*)"/.exec(text)?.[1]?.match(/M/g)).toHaveLength(2);
  });
});

describe('a list', () => {
  it('has links to the first and the next page that keep its filters', () => {
    const page = { items: [1, 2], pageToken: 'p2', nextPageToken: 'p3', from: 51 };
    const { text } = pager('/console/jobs', { state: 'failed' }, page) ?? html``;
    expect(text).toContain('href="/console/jobs?state=failed"');
    expect(text).toContain('href="/console/jobs?state=failed&amp;page_token=p3&amp;from=53"');
    const only = { items: [1], pageToken: undefined, nextPageToken: null, from: 1 };
    expect(pager('/console/jobs', {}, only)).toBeNull();
  });

  it.each([
    [1, 2, null, 2, '2 jobs'],
    [1, 1, null, null, '1 job'],
    [1, 50, 'p2', 312, '1–50 of 312 jobs'],
    [51, 50, 'p3', 10_001, '51–100 of more than 10,000 jobs'],
    [1_051, 50, null, 10_001, '1,051–1,100 of more than 10,000 jobs'],
    [1, 50, 'p2', null, 'jobs 1–50'],
    [301, 12, null, 7, 'jobs 301–312'],
  ])(
    'from %i with %i items, next page %s and %s in total says "%s"',
    (from, length, next, total, text) => {
      const items = Array.from({ length });
      const page = { items, pageToken: undefined, nextPageToken: next, from, total };
      expect(listCount(page, 'job')?.text).toContain(`>${text}<`);
    },
  );

  it('without items has no count', () => {
    const none = { items: [], pageToken: undefined, nextPageToken: null, from: 1, total: 0 };
    expect(listCount(none, 'job')).toBeNull();
  });

  it('leaves empty filters out of addresses', () => {
    expect(address('/x', { a: '', b: undefined, c: null })).toBe('/x');
  });

  it('without rows says what to do', () => {
    const empty = { title: 'No jobs', text: 'Send something.' };
    expect(table('Jobs', [], [], empty).text).toContain('Send something.');
  });
});
