import { html, type Html } from '../../../../platform/pages/html.ts';
import type {
  DeliveryFigures,
  HourOf,
  LostWorkerState,
  Overview,
  QueueState,
  SendingFigures,
  SyncState,
  WorkerState,
} from '../../../overview/overview.ts';
import { type Chart, chart } from '../../kit/chart.ts';
import { chip } from '../../kit/chip.ts';
import { count, counted } from '../../kit/figures.ts';
import { icon } from '../../kit/icons.ts';
import type { ConsolePage } from '../../kit/layout.ts';
import { table } from '../../kit/table.ts';
import { duration, relative } from '../../kit/time.ts';
import { concernsOf } from './attention.ts';
import { bounded, type Concern } from './concern.ts';

const REFRESH_SECONDS = 10;
const DEAD_SECONDS = 8;
const IN_LAST_HOUR = 'in the last hour';

const seconds = (value: number): string => duration(value * 1000);
const latency = (value: number | null): string => (value === null ? '–' : seconds(value));

/** The values of one figure, minute by minute. */
const valuesOf = <F>(hour: HourOf<F>, figure: (figures: F) => number | null) =>
  hour.minutes.map(({ figures }) => figure(figures));

const timesOf = ({ minutes }: HourOf<unknown>): Date[] => minutes.map(({ at }) => at);

function sendingCharts(sending: HourOf<SendingFigures>): Chart[] {
  const { sent, lateP99Seconds, lateP50Seconds } = sending.figures;
  return [
    {
      id: 'sending',
      title: 'Attempts to send',
      kind: 'bars',
      times: timesOf(sending),
      series: [
        { name: 'Sent', tone: 'good', values: valuesOf(sending, (one) => one.sent) },
        { name: 'Repeated', tone: 'busy', values: valuesOf(sending, (one) => one.retried) },
        { name: 'Unknown', tone: 'warning', values: valuesOf(sending, (one) => one.unknown) },
        { name: 'Failed', tone: 'bad', values: valuesOf(sending, (one) => one.failed) },
      ],
      show: count,
      headline: bounded(sent, 'message'),
      about: `sent ${IN_LAST_HOUR}`,
    },
    {
      id: 'lateness',
      title: 'Lateness of messages',
      kind: 'lines',
      times: timesOf(sending),
      series: [
        { name: 'Half', tone: 'good', values: valuesOf(sending, (one) => one.lateP50Seconds) },
        {
          name: '99 of 100',
          tone: 'warning',
          values: valuesOf(sending, (one) => one.lateP99Seconds),
        },
      ],
      show: seconds,
      headline: latency(lateP99Seconds),
      about:
        lateP99Seconds === null
          ? `nothing was due ${IN_LAST_HOUR}`
          : `or less for 99 of 100, ${latency(lateP50Seconds)} for half`,
    },
  ];
}

function deliveryChart(deliveries: HourOf<DeliveryFigures>): Chart {
  const { delivered, tookP99Seconds } = deliveries.figures;
  return {
    id: 'deliveries',
    title: 'Webhook deliveries',
    kind: 'bars',
    times: timesOf(deliveries),
    series: [
      { name: 'Delivered', tone: 'good', values: valuesOf(deliveries, (one) => one.delivered) },
      { name: 'Repeated', tone: 'busy', values: valuesOf(deliveries, (one) => one.retried) },
      { name: 'Given up', tone: 'bad', values: valuesOf(deliveries, (one) => one.dropped) },
    ],
    show: count,
    headline: counted(delivered, 'delivery', 'deliveries'),
    about:
      tookP99Seconds === null
        ? IN_LAST_HOUR
        : `${IN_LAST_HOUR}, 99 of 100 within ${latency(tookP99Seconds)}`,
  };
}

const concernItem = ({ tone, title, text, link }: Concern): Html =>
  html`<li class="attention-item attention-${tone}">
    ${icon(tone === 'bad' ? 'cross' : 'warning')}
    <div>
      <p class="attention-title">${title}</p>
      <p>${text}</p>
    </div>
    ${link ? html`<a href="${link.path}">${link.label}</a>` : null}
  </li>`;

const ALL_WELL = html`<li class="attention-item attention-good">
  ${icon('check')}
  <div>
    <p class="attention-title">Nothing needs attention</p>
    <p>Workers run, nothing is late, and nothing failed in the last hour.</p>
  </div>
</li>`;

function queueTable(queues: readonly QueueState[]): Html {
  return table(
    'Queues of due work',
    [
      { title: 'Queue', kind: 'main', cell: ({ queue }) => queue },
      { title: 'Due', kind: 'number', cell: ({ due }) => count(due) },
      {
        title: 'Oldest due',
        kind: 'number',
        cell: ({ oldestDueSeconds }) => (oldestDueSeconds > 0 ? seconds(oldestDueSeconds) : '–'),
      },
      { title: 'Running', kind: 'number', cell: ({ claimed }) => count(claimed) },
      { title: 'Overdue', kind: 'number', cell: ({ overdue }) => count(overdue) },
      { title: 'Rows', kind: 'number', cell: ({ estimatedRows }) => `≈ ${count(estimatedRows)}` },
    ],
    queues,
    { title: 'No queues', text: 'The database has no queues yet.' },
  );
}

function syncTable(sync: readonly SyncState[]): Html {
  return table(
    'Mailboxes whose sync is due or failing, by provider',
    [
      { title: 'Provider', kind: 'main', cell: ({ provider }) => provider },
      { title: 'Due', kind: 'number', cell: ({ due }) => count(due) },
      {
        title: 'Lag',
        kind: 'number',
        cell: ({ lagSeconds }) => (lagSeconds > 0 ? seconds(lagSeconds) : '–'),
      },
      { title: 'Failing', kind: 'number', cell: ({ failing }) => count(failing) },
    ],
    sync,
    { title: 'Every mailbox is current', text: 'Mailboxes appear here while their sync is due.' },
  );
}

/** A row of the table of workers. A lost worker has no start time here. */
interface WorkerRow {
  id: number;
  host: string;
  pid: number;
  startedAt: Date | null;
  state: Html;
}

const livingRow = ({ silentSeconds, ...worker }: WorkerState): WorkerRow => ({
  ...worker,
  state:
    silentSeconds <= DEAD_SECONDS
      ? chip('good', 'alive')
      : chip('bad', `silent for ${seconds(silentSeconds)}`),
});

function workerTable({ at, workers, lostWorkers }: Overview): Html {
  const lostRow = ({ lostAt, ...worker }: LostWorkerState): WorkerRow => ({
    ...worker,
    startedAt: null,
    state: chip('bad', `lost ${seconds((at.getTime() - lostAt.getTime()) / 1000)} ago`),
  });
  return table(
    'Processes that run due work',
    [
      {
        title: 'Worker',
        kind: 'main',
        cell: ({ id, host, pid }) =>
          html`${id}<span class="sub">${host}, process ${String(pid)}</span>`,
      },
      { title: 'Started', cell: ({ startedAt }) => (startedAt ? relative(startedAt, at) : '–') },
      { title: 'State', cell: ({ state }) => state },
    ],
    [...workers.map(livingRow), ...lostWorkers.map(lostRow)],
    { title: 'No worker', text: 'Start a process with ROLES=worker.' },
  );
}

/** The first page: what needs attention, charts of the last hour, and the queues. */
export function overviewPage(overview: Overview): ConsolePage {
  const { at, queues, sending, deliveries, sync, webhooks } = overview;
  const concerns = concernsOf(overview);
  const charts = [...sendingCharts(sending), deliveryChart(deliveries)];
  return {
    section: 'overview',
    title: 'Overview',
    refreshSeconds: REFRESH_SECONDS,
    body: html`<section aria-labelledby="attention">
        <h2 id="attention">Needs attention</h2>
        <ul class="attention">
          ${concerns.length > 0 ? concerns.map(concernItem) : ALL_WELL}
        </ul>
      </section>
      <section aria-labelledby="hour">
        <h2 id="hour">Last hour</h2>
        <div class="charts">${charts.map(chart)}</div>
      </section>
      <div class="columns">
        <section class="panel">
          <h2>Queues</h2>
          ${queueTable(queues)}
        </section>
        <section class="panel">
          <h2>Sync</h2>
          ${syncTable(sync)}
        </section>
      </div>
      <div class="columns">
        <section class="panel">
          <h2>Workers</h2>
          ${workerTable(overview)}
        </section>
        <section class="panel">
          <h2>Webhooks</h2>
          <dl class="tally">
            <div>
              <dt>Active</dt>
              <dd>${count(webhooks.active)}</dd>
            </div>
            <div>
              <dt>Failing</dt>
              <dd>${count(webhooks.failing)}</dd>
            </div>
            <div>
              <dt>Switched off</dt>
              <dd>${count(webhooks.failed)}</dd>
            </div>
            <div>
              <dt>Paused</dt>
              <dd>${count(webhooks.paused)}</dd>
            </div>
            <div>
              <dt>Inactive</dt>
              <dd>${count(webhooks.inactive)}</dd>
            </div>
          </dl>
        </section>
      </div>
      <p class="aside">Read at ${at.toISOString().slice(11, 19)} UTC.</p>`,
  };
}
