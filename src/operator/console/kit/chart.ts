import { attributes, html, type Html, type HtmlValue } from '../../../platform/pages/html.ts';

/** Values of one kind at the times of a chart, such as the failures of each minute. */
export interface Series {
  name: string;
  /** Its colour and, for readers who see no colours, its pattern. */
  tone: 'good' | 'busy' | 'warning' | 'bad';
  /** `null` where there is no value. Bars show it as 0, lines leave it out. */
  values: readonly (number | null)[];
}

/** A chart over time. All series have as many values as `times`. */
export interface Chart {
  /** Id of the element, unique on the page. */
  id: string;
  title: string;
  kind: 'bars' | 'lines';
  /** Starts of the spans, oldest first. */
  times: readonly Date[];
  /** Length of the spans. Default `minute`. */
  span?: 'minute' | 'day';
  series: readonly Series[];
  /** Renders a value with its unit. */
  show: (value: number) => string;
  /** The most important number of the chart, as text. */
  headline: string;
  /** What the headline is about, such as `in the last hour`. */
  about: string;
  note?: HtmlValue;
}

const WIDTH = 240;
const HEIGHT = 56;
const GAP = 1;
/** A value above 0 is never invisible. */
const LEAST_HEIGHT = 2;

/** The name of a span: its time or its day, in UTC. */
const nameOf = ({ span = 'minute' }: Chart, at: Date): string =>
  span === 'day' ? at.toISOString().slice(0, 10) : at.toISOString().slice(11, 16);

const sums = ({ times, series }: Chart): number[] =>
  times.map((_, index) => series.reduce((sum, { values }) => sum + (values[index] ?? 0), 0));

/** The highest value that the chart shows; at least 0. */
const highest = (chart: Chart): number =>
  Math.max(
    0,
    ...(chart.kind === 'bars'
      ? sums(chart)
      : chart.series.flatMap(({ values }) => values.map((value) => value ?? 0))),
  );

/** One line of the table: a span in which something happened. */
const described = (chart: Chart, index: number): string =>
  chart.series
    .map(({ name, values }) => {
      const value = values[index];
      return value === null || value === undefined ? null : `${name} ${chart.show(value)}`;
    })
    .filter(Boolean)
    .join(', ');

function bars(chart: Chart, top: number): Html[] {
  const step = WIDTH / Math.max(1, chart.times.length);
  return chart.times.map((at, index) => {
    let floor = HEIGHT;
    const parts = chart.series.map(({ tone, values }) => {
      const value = values[index] ?? 0;
      if (value <= 0) return null;
      const height = Math.max(LEAST_HEIGHT, (value / top) * HEIGHT);
      floor -= height;
      return html`<rect${attributes({
        class: `fill-${tone}`,
        x: round(index * step),
        y: round(Math.max(0, floor)),
        width: round(step - GAP),
        height: round(height),
      })} />`;
    });
    return html`<g
      ><title>${nameOf(chart, at)}: ${described(chart, index)}</title>${parts}<rect
        class="hit"
        x="${round(index * step)}"
        y="0"
        width="${round(step)}"
        height="${HEIGHT}"
    /></g>`;
  });
}

const round = (value: number): number => Math.round(value * 100) / 100;

/** One path of a series. Missing values interrupt it; a value between two gaps is a dot. */
function pathOf(values: readonly (number | null)[], top: number): string {
  const step = WIDTH / Math.max(1, values.length - 1);
  return values
    .map((value, index) => {
      if (value === null) return '';
      const before = values[index - 1] ?? null;
      const x = round(index * step);
      const y = round(HEIGHT - (value / top) * (HEIGHT - 2) - 1);
      return before === null ? `M${x} ${y}h0.01` : `L${x} ${y}`;
    })
    .join('');
}

const lines = ({ series }: Chart, top: number): Html[] =>
  series.map(({ tone, values }) => html`<path class="line-${tone}" d="${pathOf(values, top)}" />`);

const legend = ({ series }: Chart): Html =>
  html`<ul class="legend">
    ${series.map(
      ({ name, tone }) =>
        html`<li><span class="swatch fill-${tone}" aria-hidden="true"></span>${name}</li>`,
    )}
  </ul>`;

/** The spans in which something happened, newest first. */
function figuresTable(chart: Chart): Html {
  const rows = chart.times
    .map((at, index) => ({ at, index }))
    .filter(({ index }) => chart.series.some(({ values }) => values[index]))
    .toReversed();
  const body = rows.map(
    ({ at, index }) =>
      html`<tr>
        <th scope="row">${nameOf(chart, at)}</th>
        ${chart.series.map(({ values }) => {
          const value = values[index];
          return html`<td class="number">
            ${value === null || value === undefined ? '–' : chart.show(value)}
          </td>`;
        })}
      </tr>`,
  );
  return html`<details class="figures">
    <summary>Figures as a table</summary>
    ${
      rows.length === 0
        ? html`<p class="aside">All values are 0.</p>`
        : html`<div
            class="figures-frame"
            tabindex="0"
            role="region"
            aria-label="Figures of ${chart.title}"
          >
            <table>
              <thead>
                <tr>
                  <th scope="col">Time (UTC)</th>
                  ${chart.series.map(({ name }) => html`<th scope="col" class="number">${name}</th>`)}
                </tr>
              </thead>
              <tbody>
                ${body}
              </tbody>
            </table>
          </div>`
    }
  </details>`;
}

/** A small chart as SVG, with its title, a description, a legend and the figures as a table. */
export function chart(of: Chart): Html {
  const top = highest(of) || 1;
  const [first, last] = [of.times[0], of.times.at(-1)];
  const summary = `${of.headline} ${of.about}. Highest value ${of.show(highest(of))}.`;
  return html`<figure class="chart" id="${of.id}">
    <figcaption>
      <span class="chart-title">${of.title}</span><span class="chart-headline">${of.headline}</span
      ><span class="aside">${of.about}</span>
    </figcaption>
    <svg
      class="plot"
      viewBox="0 0 ${WIDTH} ${HEIGHT}"
      preserveAspectRatio="none"
      role="img"
      aria-labelledby="${of.id}-title ${of.id}-desc"
    >
      <title id="${of.id}-title">${of.title}</title>
      <desc id="${of.id}-desc">${summary}</desc>
      <path class="ground" d="M0 ${HEIGHT}H${WIDTH}" />
      ${of.kind === 'bars' ? bars(of, top) : lines(of, top)}
    </svg>
    <div class="axis" aria-hidden="true">
      <span>${first ? nameOf(of, first) : ''}</span><span>max ${of.show(highest(of))}</span
      ><span>${last ? nameOf(of, last) : ''}</span>
    </div>
    ${legend(of)} ${of.note ? html`<p class="aside">${of.note}</p>` : null} ${figuresTable(of)}
  </figure>`;
}

/** A share of a whole as a bar, with its text beside it. @param share from 0 to 1 */
export function meter(share: number, text: string, tone: Series['tone'] = 'busy'): Html {
  const width = round(Math.min(1, Math.max(0, share)) * 100);
  return html`<span class="meter"
    ><svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true" focusable="false">
      <rect class="ground-fill" width="100" height="6" />
      <rect class="fill-${tone}" width="${width}" height="6" /></svg
    ><span>${text}</span></span
  >`;
}
