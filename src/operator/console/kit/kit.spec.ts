import { html } from '../../../platform/pages/html.ts';
import { chart, type Chart } from './chart.ts';
import { count, counted, size } from './figures.ts';
import { address, pager, table } from './table.ts';
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
    expect(text).toMatch(/<th scope="row">03:40<\/th><td class="number">4<\/td><td class="number">1</);
    expect(text).not.toContain('<th scope="row">03:41');
  }); // prettier-ignore

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
    const { text } = pager('/console/jobs', { state: 'failed' }, 'p2', 'p3') ?? html``;
    expect(text).toContain('href="/console/jobs?state=failed"');
    expect(text).toContain('href="/console/jobs?state=failed&amp;page_token=p3"');
    expect(pager('/console/jobs', {}, undefined, null)).toBeNull();
  });

  it('leaves empty filters out of addresses', () => {
    expect(address('/x', { a: '', b: undefined, c: null })).toBe('/x');
  });

  it('without rows says what to do', () => {
    const empty = { title: 'No jobs', text: 'Send something.' };
    expect(table('Jobs', [], [], empty).text).toContain('Send something.');
  });
});
