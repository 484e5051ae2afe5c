import { html, type Html } from '../../../platform/pages/html.ts';
import type { Capacity, Retention, TableSize } from '../../capacity/capacity.ts';
import { NEARLY_FULL } from './overview/attention.ts';
import { chart, meter } from '../kit/chart.ts';
import { count, counted, size } from '../kit/figures.ts';
import type { ConsolePage } from '../kit/layout.ts';
import { table } from '../kit/table.ts';
import { exactly } from '../kit/time.ts';

const growth = (bytes: number | null): string =>
  bytes === null ? '–' : `${bytes < 0 ? '−' : '+'}${size(Math.abs(bytes))}`;

function forecast({ disk: { limitBytes, freeBytes, fullAt }, bytesPerDay, at }: Capacity) {
  if (fullAt) return html`At this pace the disk is full ${exactly(fullAt, at)}.`;
  if (limitBytes === null || freeBytes === null) return null;
  return bytesPerDay === null
    ? 'The growth is not known yet: it needs the sizes of two days.'
    : 'At the pace of the last week, the disk does not become full.';
}

function diskPanel(capacity: Capacity): Html {
  const { disk, databaseBytes, bytesPerDay } = capacity;
  const { limitBytes, freeBytes } = disk;
  const used = limitBytes === null || freeBytes === null ? null : 1 - freeBytes / limitBytes;
  return html`<section class="panel">
    <h2>Disk</h2>
    <dl class="tally">
      <div class="tally-main">
        <dt>Database</dt>
        <dd>${size(databaseBytes)}</dd>
      </div>
      <div>
        <dt>Growth a day</dt>
        <dd>${growth(bytesPerDay)}</dd>
      </div>
      <div>
        <dt>Free</dt>
        <dd>${freeBytes === null ? 'unknown' : size(freeBytes)}</dd>
      </div>
    </dl>
    ${used === null ? html`<p class="hint">PostgreSQL does not know the size of its disk. Set <code>DATABASE_DISK_GB</code>, and this page says when the disk is full.</p>` : meter(used, `${Math.round(used * 100)} % of ${size(limitBytes ?? 0)} used`, used > NEARLY_FULL ? 'bad' : 'busy')}
    <p>${forecast(capacity)}</p>
  </section>`;
}

const historyChart = ({ history, databaseBytes }: Capacity): Html | null =>
  history.length < 2
    ? null
    : chart({
        id: 'history',
        title: 'Size of the database',
        kind: 'lines',
        times: history.map(({ day }) => new Date(`${day}T00:00:00Z`)),
        span: 'day',
        series: [{ name: 'Size', tone: 'busy', values: history.map(({ bytes }) => bytes) }],
        show: size,
        headline: size(databaseBytes),
        about: `${history.length} days`,
      });

/** Tables that are shown at once. All others are folded away. */
const SHOWN_TABLES = 12;

const shareOf = (bytes: number, total: number): number => (total > 0 ? bytes / total : 0);

const tableTable = (tables: readonly TableSize[], total: number): Html =>
  table<TableSize>(
    'The largest tables',
    [
      {
        title: 'Table',
        kind: 'main',
        cell: ({ table: name, bytes }) =>
          html`<code>${name}</code
            >${meter(shareOf(bytes, total), `${Math.round(shareOf(bytes, total) * 100)} %`)}`,
      },
      { title: 'Size', kind: 'number', cell: ({ bytes }) => size(bytes) },
      { title: 'Indexes', kind: 'number', cell: ({ indexBytes }) => size(indexBytes) },
      {
        title: 'Rows',
        kind: 'number',
        cell: ({ rows }) => (rows === null ? '–' : `≈ ${count(rows)}`),
      },
      { title: 'Dead rows', kind: 'number', cell: ({ deadRows }) => count(deadRows) },
      { title: 'A day', kind: 'number', cell: ({ bytesPerDay }) => growth(bytesPerDay) },
    ],
    tables,
    { title: 'No tables yet', text: 'Sizes appear after the first sample.' },
  );

const retentionTable = (retention: readonly Retention[]): Html =>
  table<Retention>(
    'What is deleted, and when',
    [
      { title: 'What', kind: 'main', cell: ({ what }) => what },
      { title: 'Kept', cell: ({ kept }) => kept },
      {
        title: 'Setting',
        cell: ({ setting }) => (setting === null ? 'fixed' : html`<code>${setting}</code>`),
      },
      { title: 'Tables', cell: ({ tables }) => html`<code>${tables.join(', ')}</code>` },
    ],
    retention,
    { title: 'Nothing is deleted by age', text: '' },
  );

/** How much space the tables take, how they grow, and what is deleted. */
export function capacityPage(capacity: Capacity): ConsolePage {
  const { tables, databaseBytes } = capacity;
  return {
    section: 'capacity',
    title: 'Capacity',
    body: html`<div class="columns">${diskPanel(capacity)}${historyChart(capacity)}</div>
      <section class="panel">
        <h2>Largest tables</h2>
        ${tableTable(tables.slice(0, SHOWN_TABLES), databaseBytes)}
      </section>
      ${
        tables.length > SHOWN_TABLES
          ? html`<details class="panel folded">
              <summary>${counted(tables.length - SHOWN_TABLES, 'smaller table')}</summary>
              ${tableTable(tables.slice(SHOWN_TABLES), databaseBytes)}
            </details>`
          : null
      }
      <section class="panel">
        <h2>What is deleted</h2>
        ${retentionTable(capacity.retention)}
      </section>`,
  };
}
