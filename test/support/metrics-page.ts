import request from 'supertest';

/** Values of a page of metrics by series, for example `carillon_workers{state="alive"}`. */
export type MetricsPage = ReadonlyMap<string, number>;

/** Reads the samples of a page in the text format of Prometheus. */
export function parseMetrics(text: string): MetricsPage {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const end = line.lastIndexOf(' ');
      return [line.slice(0, end), Number(line.slice(end + 1))];
    }),
  );
}

/**
 * Requests the metrics of a server.
 * @param token its `METRICS_TOKEN`
 */
export async function readMetrics({ url }: { url: string }, token = ''): Promise<MetricsPage> {
  const { text } = await request(url)
    .get('/metrics')
    .set('authorization', `Bearer ${token}`)
    .expect(200);
  return parseMetrics(text);
}

/** Sum of the series of a metric whose labels contain `labels`; 0 if there is none. */
export function total(page: MetricsPage, name: string, labels: Record<string, string> = {}) {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  return [...page]
    .filter(([series]) => series === name || series.startsWith(`${name}{`))
    .filter(([series]) => wanted.every((pair) => series.includes(pair)))
    .reduce((sum, [, value]) => sum + value, 0);
}

/** Whether the process had no long delays. */
export const isFree = (page: MetricsPage) => total(page, 'nodejs_eventloop_lag_p99_seconds') < 0.5;

/** Whether this machine had time for the process and for all statements of the page. */
export const isHealthy = (page: MetricsPage) =>
  isFree(page) &&
  [...page].every(([series, up]) => !series.startsWith('carillon_metrics_source_up') || up === 1);

/** The page without budgets of providers, which earlier tests of this process may have used up. */
export const withoutBudgets = (page: MetricsPage): MetricsPage =>
  new Map([...page].filter(([series]) => !series.startsWith('carillon_provider_budget_left')));
