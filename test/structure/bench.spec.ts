import fs from 'node:fs';
import path from 'node:path';
import { BENCHES } from '../../bench/all.ts';
import { compare, type Round } from '../../bench/comparison.ts';
import { dotPlot, type PlotLine } from '../../bench/dot-plot.ts';
import { keepsFigures, parseOptions } from '../../bench/options.ts';
import { type KeptRow, merged, readResults, type Results } from '../../bench/results.ts';
import { figuresOf, plotsOf, withFigures } from '../../bench/results-page.ts';
import { ROOT } from '../../scripts/lib/project.ts';

const PARTS = [
  { name: 'outbox', rows: [{ key: 'send' }, { key: 'idle' }] },
  { name: 'mailbox', rows: [{ key: 'mirror' }] },
];
const KEYS = ['send', 'idle', 'mirror'];
const [EPYC, XEON] = ['2 × EPYC, 8 GB', '2 × Xeon, 24 GB'];

const round = (perSecond: number, ms: number): Round => ({
  perSecond,
  cpu: { process: ms, postgres: ms },
});

const row = (at: string, measured: number, what = 'messages: rate, as a share of a pool') =>
  ({
    at,
    node: '24.21.0',
    postgres: '18.4',
    load: 0.4,
    findings: [
      { what, measured, needed: 0.7, aim: 0.8, better: 'more', unit: '', rounds: [0.5, 0.9] },
    ],
  }) satisfies KeptRow;

describe('a comparison of the bench', () => {
  it('compares medians of rates and of processor times, and names the ratio of each round', () => {
    const rounds = {
      carillon: [round(80, 2), round(90, 3), round(10, 9)],
      raw: [round(100, 1), round(100, 1), round(100, 2)],
    };
    const findings = compare('messages', 'a pool', rounds, { share: 0.7, aim: 0.8, cpu: 2 });
    expect(findings).toMatchObject([
      { measured: 0.8, needed: 0.7, aim: 0.8, rounds: [0.8, 0.9, 0.1], quartiles: [0.1, 0.9] },
      { measured: 3, needed: 2, aim: null, rounds: [2, 3, 4.5], quartiles: [2, 4.5] },
    ]);
  });

  it('also judges the processor time itself, if a row needs that', () => {
    const rounds = {
      carillon: [round(80, 0.1), round(80, 0.3)],
      raw: [round(80, 0.1), round(80, 0.1)],
    };
    const needs = { share: 0.7, aim: 0.8, cpu: 2, cpuMs: 0.5 };
    expect(compare('messages', 'a pool', rounds, needs)[2]).toMatchObject({
      what: 'messages: processor time of each',
      measured: 0.4,
      needed: 0.5,
      unit: ' ms',
    });
  });

  it('leaves processor times out if the system does not tell them', () => {
    const unknown = { perSecond: 100, cpu: { process: null, postgres: null } };
    const rounds = { carillon: [unknown], raw: [unknown] };
    expect(compare('messages', 'a pool', rounds, { share: 0.7, aim: 0.8, cpu: 2 })).toHaveLength(1);
  });
});

describe('the options of the bench', () => {
  it('take the name of a part for all its rows', () => {
    expect(parseOptions(['--only', 'outbox, mirror'], PARTS)).toMatchObject({ only: KEYS });
    expect(() => parseOptions(['--only', 'nothing'], PARTS)).toThrow(
      'Unknown row nothing. Parts: outbox, mailbox. Rows: send, idle, mirror',
    );
  });

  it.each([['--quick'], ['--profile=x'], ['--messages=9'], ['--database=postgres://x']])(
    'keep no figures with %s',
    (option) => {
      const [partial, full] = [parseOptions([option], PARTS), parseOptions(['--only=send'], PARTS)];
      expect(partial !== 'help' && keepsFigures(partial)).toBe(false);
      expect(full !== 'help' && keepsFigures(full)).toBe(true);
    },
  );

  it('name each row once in all parts', () => {
    const keys = BENCHES.flatMap(({ rows }) => rows.map(({ key }) => key));
    expect(keys).toHaveLength(new Set(keys).size);
  });
});

describe('the kept figures of the bench', () => {
  const kept = { mirror: row('2026-11-01', 0.6), send: row('2026-11-01', 0.5) };
  const before = { [EPYC]: kept };

  it('change only in the rows of a run, on its type of machine', () => {
    const run = { machine: EPYC, rows: { send: row('2026-11-02', 0.9) } };
    const after = merged({ ...before, [XEON]: kept }, run, KEYS);
    expect(after).toEqual({
      [EPYC]: { send: row('2026-11-02', 0.9), mirror: row('2026-11-01', 0.6) },
      [XEON]: kept,
    });
    expect(Object.keys(after[EPYC] ?? {})).toEqual(['send', 'mirror']);
  });

  it('lose rows that do not exist anymore', () => {
    const run = { machine: XEON, rows: { idle: row('2026-11-02', 0.9) } };
    expect(merged(before, run, ['idle'])).toEqual({ [XEON]: run.rows });
  });

  it('show machine types side by side, with a dash if one has not measured a row', () => {
    const results: Results = {
      [EPYC]: { send: row('2026-11-01', 0.5) },
      [XEON]: { send: row('2026-11-03', 0.75), mirror: row('2026-11-02', 0.85, 'mail') },
    };
    expect(figuresOf(results, PARTS).split('\n')).toEqual([
      `| Row | What | Needed | Aim | ${EPYC} | ${XEON} |`,
      '|---|---|---|---|---|---|',
      '| `send` | messages: rate, as a share of a pool | 0.7 | 0.8 | 0.5, **no** | 0.75, yes |',
      '| `mirror` | mail | 0.7 | 0.8 | – | 0.85, aim |',
      '',
      '| Machine type | Measured | Node.js | PostgreSQL | Load before a row |',
      '|---|---|---|---|---|',
      `| ${EPYC} | 2026-11-01 | 24.21.0 | 18.4 | 0.4 |`,
      `| ${XEON} | 2026-11-02 to 2026-11-03 | 24.21.0 | 18.4 | 0.4 |`,
    ]);
  });

  it('show quartiles, and no verdict on a value that nothing needs', () => {
    const [finding] = row('2026-11-01', 1.5).findings;
    if (!finding) throw new Error('the row has no finding');
    const shown = { ...finding, needed: null, aim: null, quartiles: [1.4, 1.7] as const };
    const results: Results = { [EPYC]: { send: { ...row('2026-11-01', 1.5), findings: [shown] } } };
    expect(figuresOf(results, PARTS).split('\n')[2]).toBe(
      '| `send` | messages: rate, as a share of a pool |  |  | 1.5 (1.4 to 1.7) |',
    );
    expect(plotsOf(results, PARTS)['bench-all.svg']).not.toContain('messages');
  });

  it('replace only the text between the marks of the page', () => {
    const page = fs.readFileSync(path.join(ROOT, 'docs/performance.md'), 'utf8');
    const once = withFigures(page, 'new figures');
    expect(once).toContain('new figures');
    expect(withFigures(once, figuresOf(readResults(), BENCHES))).toBe(page);
    expect(() => withFigures('# No marks', 'new figures')).toThrow('the page has no');
  });

  it('are those of bench/results.json in each plot; if not, run `npm run bench:write-docs`', () => {
    for (const [name, svg] of Object.entries(plotsOf(readResults(), BENCHES)))
      expect(fs.readFileSync(path.join(ROOT, 'docs/images', name), 'utf8')).toBe(svg);
  });
});

describe('a plot of the bench', () => {
  const scale = { from: 0, to: 1, ticks: [0, 1], isLog: false };
  const line: PlotLine = {
    label: 'a < b & "c"',
    needed: 0.5,
    aim: null,
    dots: [
      { at: 0.5, machine: 0, isRound: false },
      { at: 7, machine: 1, isRound: true },
    ],
  };
  const plot = dotPlot({ title: 'Rates', machines: [EPYC, XEON], scale, lines: [line] });
  const values = (pattern: RegExp) => [...plot.matchAll(pattern)].map(([, value]) => value);

  it('draws a value that is as good as needed on the mark of the needed value', () => {
    const [needed] = values(/class="needed" x1="([\d.]+)" x2="\1" y1="67"/g);
    expect(values(/class="m0" cx="([\d.]+)" cy="75"/g)).toEqual([needed]);
  });

  it('draws a value beyond the axis at its end, and a round as a small dot', () => {
    const [end] = values(/class="axis" x="([\d.]+)"[^>]*>1</g);
    expect(values(/class="m1 round" cx="([\d.]+)" cy="75" r="2.5"/g)).toEqual([end]);
  });

  it('escapes labels, and has no script and no address of another file', () => {
    expect(plot).toContain('>a &lt; b &amp; &quot;c&quot;</text>');
    expect(plot).not.toMatch(/<script|href=|url\(/);
  });
});
