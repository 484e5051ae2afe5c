import request from 'supertest';
import { OverviewService } from '../../src/operator/overview/overview.service.ts';
import { readMetrics } from './metrics-page.ts';
import type { TestOperator } from './operators.ts';
import type { TestApp } from './test-app.ts';

/** What the probe of an orchestrator gets. */
export interface ReadyAnswer {
  status: number;
  /** Problems of the checks that fail, by the names of the checks. */
  failing: Record<string, string>;
}

/** Requests `/health/ready` of a server. */
export async function readyOf({ url }: Pick<TestApp, 'url'>): Promise<ReadyAnswer> {
  const { status, body } = await request(url).get('/health/ready');
  const { checks } = body as { checks: { name: string; problem?: string }[] };
  const failing = checks.flatMap(({ name, problem }) => (problem ? [[name, problem]] : []));
  return { status, failing: Object.fromEntries(failing) as Record<string, string> };
}

/** One line under "Needs attention". */
export interface OverviewLine {
  tone: string;
  title: string;
  text: string;
  /** Path of its link; `undefined` if it has none. */
  link: string | undefined;
}

const LINE =
  /attention-item attention-(\w+)">.*?attention-title">(.*?)<\/p>\s*<p>(.*?)<\/p>\s*<\/div>\s*(?:<a href="(.*?)">)?/gs;
const plain = (markup = '') =>
  markup.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');

/** Reads the overview of the console, with numbers of this moment. */
export async function overviewOf(server: TestApp, operator: TestOperator): Promise<OverviewLine[]> {
  server.app.get(OverviewService).expire();
  const { text } = await request(server.url).get('/console').set(operator.cookie).expect(200);
  return [...text.matchAll(LINE)].map(([, tone = '', title, words, link]) => ({
    tone,
    title: plain(title),
    text: plain(words),
    link: link === undefined ? undefined : plain(link),
  }));
}

/** Value of `carillon_check_ok` of a check on the page of metrics. */
export async function checkMetric(server: Pick<TestApp, 'url'>, check: string) {
  return (await readMetrics(server)).get(`carillon_check_ok{check="${check}"}`);
}
