import fs from 'node:fs';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { registry } from './metrics.ts';

const ROW = /^\| `(carillon_\w+)` \| (\w+) \| (.+?) \| .+ \|$/gm;

/** Names in a text that look like metrics, without the suffixes of histograms. */
const namesIn = (text: string): string[] => [
  ...new Set(
    [...text.matchAll(/\b(?:carillon|nodejs|process)_[a-z0-9_]+\b/g)].map(([name]) =>
      name.replace(/_(bucket|sum|count)$/, ''),
    ),
  ),
];

describe('metrics', () => {
  const files = ['deploy/alerts.yml', 'docs/monitoring.md'].concat(
    fs.readdirSync('deploy/grafana').map((file) => `deploy/grafana/${file}`),
  );
  const ours = registry.getMetricsAsArray() as unknown as {
    name: string;
    help: string;
    labelNames: string[];
    constructor: { name: string };
  }[];

  it('are all in docs/monitoring.md, with their kinds and labels', () => {
    const text = fs.readFileSync('docs/monitoring.md', 'utf8');
    const documented = [...text.matchAll(ROW)].map(([, name, kind, labels = '']) => ({
      name,
      kind,
      labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label),
    }));
    const declared = ours.map(({ name, labelNames: labels, constructor }) => ({
      name,
      kind: constructor.name.toLowerCase(),
      labels,
    }));
    const byName = (a: { name?: string | undefined }, b: { name?: string | undefined }) =>
      (a.name ?? '') < (b.name ?? '') ? -1 : 1;
    expect(documented.toSorted(byName)).toEqual(declared.toSorted(byName));
  });

  it.each(files)('that %s names exist', (file) => {
    const node = new Registry();
    collectDefaultMetrics({ register: node });
    const known = [...ours, ...node.getMetricsAsArray()].map(({ name }) => name);
    const named = namesIn(fs.readFileSync(file, 'utf8'));
    expect(named.filter((name) => !known.includes(name))).toEqual([]);
    expect(named.length).toBeGreaterThan(3);
  });

  it('have a section in docs/monitoring.md for each alert, which the alert names', () => {
    const rules = fs.readFileSync('deploy/alerts.yml', 'utf8');
    const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name);
    const text = fs.readFileSync('docs/monitoring.md', 'utf8');
    expect([...text.matchAll(/^### (Carillon\w+)$/gm)].map(([, name = '']) => name)).toEqual(
      expect.arrayContaining(alerts),
    );
    const links = [...rules.matchAll(/runbook: docs\/monitoring\.md#(\w+)/g)];
    expect(links.map(([, link]) => link)).toEqual(alerts.map((name) => name.toLowerCase()));
  });

  it('use base units, and no label that grows with the users', () => {
    const forbidden = ['account', 'application', 'email', 'id', 'path', 'job', 'host', 'webhook'];
    for (const { name, labelNames, constructor } of ours) {
      expect(labelNames.filter((label) => forbidden.includes(label))).toEqual([]);
      expect(name.endsWith('_total')).toBe(constructor.name === 'Counter');
      expect(name).not.toMatch(/_(ms|milliseconds|minutes|kb|mb|percent)(_|$)/);
    }
  });
});
