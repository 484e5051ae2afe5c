/** A plot of values on a common axis, one line of dots for each subject. */
export interface DotPlot {
  title: string;
  /** Names for the legend. Each has its own colour. */
  machines: readonly string[];
  scale: Scale;
  lines: readonly PlotLine[];
}

/** The common axis. Values beyond its ends are drawn at its ends. */
export interface Scale {
  from: number;
  to: number;
  ticks: readonly number[];
  isLog: boolean;
}

/** One line of a plot. */
export interface PlotLine {
  label: string;
  needed: number;
  aim: number | null;
  dots: readonly Dot[];
}

/** A value of one machine. */
export interface Dot {
  at: number;
  /** Position of the machine in `machines`. */
  machine: number;
  /** Whether it is a single round, drawn small, and not the result. */
  isRound: boolean;
}

const WIDTH = 880;
const LABELS = 420;
const RIGHT = 24;
const TOP = 64;
const LINE = 22;
const COLOURS = 4;

// The page's theme does not reach into an image, so the plot has a background of its own.
const STYLE = `
    svg { font: 12px system-ui, sans-serif; }
    .page { fill: #fff; } text { fill: #24292f; } .axis { fill: #59636e; } .grid { stroke: #d1d9e0; }
    .needed { stroke: #cf222e; stroke-width: 2; } .aim { stroke: #1a7f37; stroke-width: 2; }
    .m0 { fill: #0969da; } .m1 { fill: #bc4c00; } .m2 { fill: #8250df; } .m3 { fill: #6e7781; }
    .round { opacity: 0.4; }
    @media (prefers-color-scheme: dark) {
      .page { fill: #0d1117; }
      text { fill: #e6edf3; } .axis { fill: #9198a1; } .grid { stroke: #3d444d; }
      .needed { stroke: #ff7b72; } .aim { stroke: #56d364; }
      .m0 { fill: #58a6ff; } .m1 { fill: #f0883e; } .m2 { fill: #bc8cff; } .m3 { fill: #8b949e; }
    }`;

const escape = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

const pixel = (value: number): string => String(Math.round(value * 10) / 10);

function positionOf(value: number, { from, to, isLog }: Scale): number {
  const within = Math.min(Math.max(value, from), to);
  const share = isLog
    ? Math.log(within / from) / Math.log(to / from)
    : (within - from) / (to - from);
  return LABELS + share * (WIDTH - LABELS - RIGHT);
}

function lineOf({ label, needed, aim, dots }: PlotLine, index: number, scale: Scale): string {
  const y = TOP + index * LINE + LINE / 2;
  const mark = (name: string, value: number): string => {
    const x = pixel(positionOf(value, scale));
    return `<line class="${name}" x1="${x}" x2="${x}" y1="${pixel(y - 8)}" y2="${pixel(y + 8)}"/>`;
  };
  return [
    `<text x="${LABELS - 10}" y="${pixel(y + 4)}" text-anchor="end">${escape(label)}</text>`,
    mark('needed', needed),
    ...(aim === null ? [] : [mark('aim', aim)]),
    ...dots.map(({ at, machine, isRound }) => {
      const name = `m${machine % COLOURS}${isRound ? ' round' : ''}`;
      const x = pixel(positionOf(at, scale));
      return `<circle class="${name}" cx="${x}" cy="${pixel(y)}" r="${isRound ? 2.5 : 4.5}"/>`;
    }),
  ].join('\n  ');
}

function axis({ ticks, ...rest }: Scale, bottom: number): string[] {
  return ticks.map((tick) => {
    const x = pixel(positionOf(tick, { ticks, ...rest }));
    const grid = `<line class="grid" x1="${x}" x2="${x}" y1="${TOP}" y2="${bottom}"/>`;
    const words = `<text class="axis" x="${x}" y="${bottom + 16}" text-anchor="middle">${tick}</text>`;
    return `${grid}\n  ${words}`;
  });
}

function legend(machines: readonly string[]): string[] {
  const marks = ['needed', 'aim'].map((name, index) => {
    const x = 16 + index * 80;
    const line = `<line class="${name}" x1="${x}" x2="${x}" y1="36" y2="52"/>`;
    return `${line}\n  <text x="${x + 8}" y="48">${name}</text>`;
  });
  const dots = machines.map((machine, index) => {
    const x = 176 + index * 230;
    const dot = `<circle class="m${index % COLOURS}" cx="${x}" cy="44" r="4.5"/>`;
    return `${dot}\n  <text x="${x + 10}" y="48">${escape(machine)}</text>`;
  });
  return [...marks, ...dots];
}

/**
 * Draws a plot as SVG that is readable on light and dark pages. Small dots are rounds, large ones
 * results; the red line is the needed value, the green one the aim.
 */
export function dotPlot({ title, machines, scale, lines }: DotPlot): string {
  const bottom = TOP + lines.length * LINE;
  const height = bottom + 28;
  const parts = [
    `<title>${escape(title)}</title>`,
    `<style>${STYLE}\n  </style>`,
    '<rect class="page" width="100%" height="100%"/>',
    `<text x="16" y="22" font-weight="600">${escape(title)}</text>`,
    ...legend(machines),
    ...axis(scale, bottom),
    ...lines.map((line, index) => lineOf(line, index, scale)),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}">
  ${parts.join('\n  ')}
</svg>
`;
}
