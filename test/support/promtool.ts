import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { MetricsPage } from './metrics-page.ts';

const RULES = path.resolve(import.meta.dirname, '../../deploy/alerts.yml');
/** Longer than the longest window of a rule that looks back at healthy samples. */
const HEALTHY_MINUTES = 65;
/** Longer than the longest `for` of a rule. */
const BROKEN_MINUTES = 20;

/** Runs promtool. @returns its output and whether it succeeded */
export function promtool(...args: string[]): Promise<{ ok: boolean; output: string }> {
  return new Promise((resolve) => {
    execFile('promtool', args, (error, stdout, stderr) =>
      resolve({ ok: error === null, output: stdout + stderr }),
    );
  });
}

/** Checks the alert rules of `deploy/alerts.yml`. */
export const checkRules = () => promtool('check', 'rules', RULES);

/** Checks that each of these queries is valid. */
export async function checkQueries(queries: readonly string[]) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'carillon-queries-'));
  const file = path.join(folder, 'rules.yml');
  const rules = queries.map((expr, index) => ({ record: `query:${index}`, expr }));
  await writeFile(file, JSON.stringify({ groups: [{ name: 'queries', rules }] }));
  const checked = await promtool('check', 'rules', file);
  await rm(folder, { recursive: true });
  return checked;
}

/**
 * Lets Prometheus evaluate the alert rules over two pages of metrics, as if it had scraped the
 * first one for an hour and then the second one for 20 minutes.
 * @param alert checked: it does not fire in the first hour, and then it does. `null`: no alert
 *   fires in all that time
 * @returns what Prometheus says against it; empty if all is as expected
 */
export async function judge(
  alert: string | null,
  before: MetricsPage,
  after: MetricsPage,
): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'carillon-alerts-'));
  const file = path.join(folder, 'test.yml');
  const rules = await readFile(RULES, 'utf8');
  const series = seriesOf(alert === null ? rules : ruleOf(rules, alert), before, after);
  await writeFile(file, JSON.stringify(unitTest(alert, series)));
  const { ok, output } = await promtool('test', 'rules', file);
  await rm(folder, { recursive: true });
  return ok ? '' : output;
}

/** JSON is YAML. */
function unitTest(alert: string | null, input_series: object[]) {
  const firing = (minutes: number, selector: string) =>
    `count by (alertname) (max_over_time(ALERTS{alertstate="firing"${selector}}[${minutes}m]))`;
  const one = alert === null ? '' : `, alertname="${alert}"`;
  const total = HEALTHY_MINUTES + BROKEN_MINUTES;
  return {
    rule_files: [RULES],
    evaluation_interval: '1m',
    tests: [
      {
        interval: '1m',
        input_series,
        promql_expr_test: [
          {
            expr: firing(HEALTHY_MINUTES, one),
            eval_time: `${HEALTHY_MINUTES * 60 - 1}s`,
            exp_samples: [],
          },
          {
            expr: `${firing(BROKEN_MINUTES, one)} > bool 0`,
            eval_time: `${total}m`,
            exp_samples: alert === null ? [] : [{ labels: `{alertname="${alert}"}`, value: 1 }],
          },
        ],
      },
    ],
  };
}

/** The part of the file that defines an alert. */
function ruleOf(rules: string, alert: string): string {
  const rule = rules.split('- alert: ').find((part) => part.startsWith(`${alert}\n`));
  if (rule === undefined) throw new Error(`there is no alert ${alert}`);
  return rule;
}

/** The series of both pages that the rules name, one sample a minute. */
function seriesOf(rules: string, before: MetricsPage, after: MetricsPage): object[] {
  const names = new Set(rules.match(/\b[a-z]+(?:_[a-z0-9]+)+\b|\bup\b/g));
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((series) => names.has(/^\w+/.exec(series)?.[0] ?? ''))
    .map((series) => {
      const samples = (page: MetricsPage, minutes: number) =>
        page.has(series) ? `${page.get(series)}+0x${minutes - 1}` : `_x${minutes}`;
      return {
        series: scraped(series),
        values: `${samples(before, HEALTHY_MINUTES)} ${samples(after, BROKEN_MINUTES)}`,
      };
    });
}

/** Adds the labels that Prometheus gives to what it scrapes. */
function scraped(series: string): string {
  const labels = 'job="carillon",instance="carillon:9400"';
  return series.includes('{') ? series.replace('{', `{${labels},`) : `${series}{${labels}}`;
}
