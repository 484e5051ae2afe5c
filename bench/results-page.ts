import fs from 'node:fs';
import path from 'node:path';
import { type Finding, verdict } from './finding.ts';
import { dotPlot, type PlotLine } from './dot-plot.ts';
import type { KeptRow, Results } from './results.ts';
import type { Part } from './options.ts';

type KeptFinding = KeptRow['findings'][number];

/** A finding as the machine types measured it. */
interface Line<Needed = number | null> {
  row: string;
  what: string;
  /** Needed value, aim, unit and direction, from the latest measurement. */
  terms: Pick<Finding, 'aim' | 'better' | 'unit'> & { needed: Needed };
  /** One entry for each machine type; undefined if it has not measured the row. */
  measured: readonly (KeptFinding | undefined)[];
}

const DOCS = path.resolve(import.meta.dirname, '../docs');
const PAGE = path.join(DOCS, 'performance.md');
const BEGIN = '<!-- figures: written by `npm run bench` from bench/results.json -->';
const END = '<!-- end of figures -->';
const VERDICTS = { aim: ', aim', yes: ', yes', shown: '', NO: ', **no**' } as const;

/** All findings in the order of the rows. */
function linesOf(results: Results, parts: readonly Part[]): Line[] {
  const machines = Object.values(results);
  return parts
    .flatMap(({ rows }) => rows)
    .flatMap(({ key }) => {
      const kept = machines.map((rows) => rows[key]);
      const latest = kept
        .filter((row) => row !== undefined)
        .toSorted((a, b) => b.at.localeCompare(a.at))
        .flatMap(({ findings }) => findings);
      return [...new Set(latest.map(({ what }) => what))].flatMap((what) => {
        const terms = latest.find((finding) => finding.what === what);
        if (!terms) return [];
        const measured = kept.map((row) => row?.findings.find((one) => one.what === what));
        return [{ row: key, what, terms, measured }];
      });
    });
}

const valueOf = (value: number | null, unit: string): string =>
  value === null ? '' : `${value.toLocaleString('en')}${unit}`;

/** A measured value with its quartiles and its verdict. */
const cellOf = (one: KeptFinding): string => {
  const between = one.quartiles?.map((value) => value.toLocaleString('en')).join(' to ');
  const spread = between ? ` (${between})` : '';
  return `${valueOf(one.measured, one.unit)}${spread}${VERDICTS[verdict(one)]}`;
};

const tableRow = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [tableRow(head), `|${'---|'.repeat(head.length)}`, ...rows.map(tableRow)].join('\n');

/** First and last of some values, or the only one. */
function range(values: readonly (string | number)[], join = ' to '): string {
  const sorted = [...new Set(values)].toSorted((a, b) => (a < b ? -1 : 1));
  return sorted.length > 1 ? `${sorted[0]}${join}${sorted.at(-1)}` : String(sorted[0] ?? '');
}

/** The kept figures in Markdown: a table of all findings, and one of the machines. */
export function figuresOf(results: Results, parts: readonly Part[]): string {
  const machines = Object.entries(results);
  const findings = linesOf(results, parts).map(({ row, what, terms, measured }) => [
    `\`${row}\``,
    what,
    valueOf(terms.needed, terms.unit),
    valueOf(terms.aim, terms.unit),
    ...measured.map((one) => (one ? cellOf(one) : '–')),
  ]);
  const conditions = machines.map(([machine, rows]) => {
    const kept = Object.values(rows);
    const loads = kept.map(({ load }) => load);
    return [
      machine,
      range(kept.map(({ at }) => at)),
      range(kept.map(({ node }) => node)),
      range(kept.map(({ postgres }) => postgres)),
      range([Math.min(...loads), Math.max(...loads)]),
    ];
  });
  const names = machines.map(([machine]) => machine);
  return [
    table(['Row', 'What', 'Needed', 'Aim', ...names], findings),
    table(['Machine type', 'Measured', 'Node.js', 'PostgreSQL', 'Load before a row'], conditions),
  ].join('\n\n');
}

/** The lines that have a needed value: only these are drawn. */
const judged = (lines: readonly Line[]): Line<number>[] =>
  lines.flatMap((line) => {
    const { needed } = line.terms;
    return needed === null ? [] : [{ ...line, terms: { ...line.terms, needed } }];
  });

/** How much better a value is than the needed one: 1 = as needed, 2 = twice as good. */
function timesAsGood(value: number, { needed, better }: Line<number>['terms']): number {
  const [good, than] = better === 'more' ? [value, needed] : [needed, value];
  return good === than ? 1 : good / than;
}

const shorten = (text: string): string => (text.length > 62 ? `${text.slice(0, 61)}…` : text);

/** A finding of a comparison, with the value of each round. */
function ratioLine({ row, what, terms, measured }: Line<number>): PlotLine {
  return {
    label: shorten(`${row}: ${what.replace(/: (?:rate|processor time), as .*$/, '')}`),
    needed: terms.needed,
    aim: terms.aim,
    dots: measured.flatMap((one, machine) =>
      one
        ? [
            ...(one.rounds ?? []).map((at) => ({ at, machine, isRound: true })),
            { at: one.measured, machine, isRound: false },
          ]
        : [],
    ),
  };
}

/** The plots of the kept figures by file name, as SVG. */
export function plotsOf(results: Results, parts: readonly Part[]): Record<string, string> {
  const lines = judged(linesOf(results, parts));
  const machines = Object.keys(results);
  const ratios = (of: string) => lines.filter(({ what }) => what.includes(of)).map(ratioLine);
  return {
    'bench-all.svg': dotPlot({
      title: 'Every finding: how many times as good as needed',
      machines,
      scale: { from: 0.25, to: 8, ticks: [0.25, 0.5, 1, 2, 4, 8], isLog: true },
      lines: lines.map(({ row, what, terms, measured }) => ({
        label: shorten(`${row}: ${what}`),
        needed: 1,
        aim: terms.aim === null ? null : timesAsGood(terms.aim, terms),
        dots: measured.flatMap((one, machine) =>
          one ? [{ at: timesAsGood(one.measured, terms), machine, isRound: false }] : [],
        ),
      })),
    }),
    'bench-rates.svg': dotPlot({
      title: 'Rate as a share of the bare program’s, each round',
      machines,
      scale: { from: 0, to: 1.25, ticks: [0, 0.25, 0.5, 0.75, 1, 1.25], isLog: false },
      lines: ratios(': rate, as a share of '),
    }),
    'bench-processor-time.svg': dotPlot({
      title: 'Processor time as a multiple of the bare program’s, each round (less is better)',
      machines,
      scale: { from: 0, to: 5, ticks: [0, 1, 2, 3, 4, 5], isLog: false },
      lines: ratios(': processor time, as a multiple of '),
    }),
  };
}

/**
 * Replaces the figures of a page.
 * @throws {Error} if the page does not have both marks
 */
export function withFigures(page: string, figures: string): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`the page has no ${BEGIN} with ${END} after it`);
  return `${page.slice(0, begin + BEGIN.length)}\n\n${figures}\n\n${page.slice(end)}`;
}

/** Writes the kept figures into `docs/performance.md`, and the plots beside it. */
export function writePages(results: Results, parts: readonly Part[]): void {
  const page = fs.readFileSync(PAGE, 'utf8');
  fs.writeFileSync(PAGE, withFigures(page, figuresOf(results, parts)));
  for (const [name, svg] of Object.entries(plotsOf(results, parts)))
    fs.writeFileSync(path.join(DOCS, 'images', name), svg);
}
