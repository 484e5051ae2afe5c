import fs from 'node:fs';
import path from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { ensureBuilt } from './lib/build.ts';
import { ROOT } from './lib/project.ts';
import { accountSample, proofSample } from '../test/support/console/account-samples.ts';
import { bulkSample, jobDetailsSample, jobSamples } from '../test/support/console/job-samples.ts';
import { overviewSample } from '../test/support/console/overview-sample.ts';

/*
 * Takes the screenshots of docs/console.md from sample data, so that they are the same in every
 * run: `npm run console:screenshots`.
 */

const FOLDER = path.join(ROOT, 'docs/images');
const CONSOLE = path.join(ROOT, 'dist/src/operator/console');
const NOW = new Date('2026-11-24T03:40:00Z');
const VIEWER = { name: 'ada', role: 'operate' as const, csrfToken: '' };

/** A screenshot: its page, and how it is looked at. */
interface Screenshot {
  document: string;
  scheme: 'light' | 'dark';
  width: number;
  height: number;
}

const load = <T>(file: string): Promise<T> => import(path.join(CONSOLE, file)) as Promise<T>;

async function screenshots(): Promise<Record<string, Screenshot>> {
  const layout =
    await load<typeof import('../src/operator/console/kit/layout.ts')>('kit/layout.js');
  const overview = await load<
    typeof import('../src/operator/console/pages/overview/overview.page.ts')
  >('pages/overview/overview.page.js');
  const jobs =
    await load<typeof import('../src/operator/console/pages/jobs.page.ts')>('pages/jobs.page.js');
  const job =
    await load<typeof import('../src/operator/console/pages/job.page.ts')>('pages/job.page.js');
  const account =
    await load<typeof import('../src/operator/console/pages/account.page.ts')>(
      'pages/account.page.js',
    );
  const same = (text: string) => text;
  const view = { now: NOW, notice: null };
  const items = jobSamples(NOW, same);
  const list = { items, nextPageToken: null, pageToken: undefined, from: 1, total: items.length };
  const asked = { result: bulkSample(NOW, same), filter: { state: 'open' }, now: NOW };
  const details = { ...view, previewable: true };
  const pages = {
    'console-overview': overview.overviewPage(overviewSample(NOW, same)),
    'console-jobs': jobs.jobsPage(VIEWER, list, {}, view),
    'console-job': job.jobPage(VIEWER, jobDetailsSample(NOW, same), details),
    'console-confirm': jobs.jobActionPage(VIEWER, 'cancel', asked),
    'console-account': account.accountPage(VIEWER, accountSample(NOW, same), {
      ...view,
      tokens: [],
      proof: proofSample(NOW),
    }),
  };
  const styles = `<style>${layout.STYLES_FILE.content}</style>`;
  const documents = Object.fromEntries(
    Object.entries(pages).map(([name, page]) => [
      name,
      layout.consolePage(VIEWER, page).replace(/<link rel="stylesheet"[^>]*>/, styles),
    ]),
  );
  const wide = { scheme: 'light' as const, width: 1120, height: 780 };
  const of = (name: string, more = {}): Screenshot => ({
    document: documents[name] ?? '',
    ...wide,
    ...more,
  });
  return {
    'console-overview': of('console-overview', { height: 940 }),
    'console-jobs': of('console-jobs'),
    'console-job-dark': of('console-job', { scheme: 'dark' }),
    'console-confirm': of('console-confirm', { height: 760 }),
    'console-account-phone': of('console-account', { width: 390, height: 844 }),
  };
}

async function take(page: Page, name: string, of: Screenshot): Promise<number> {
  await page.emulateMedia({ colorScheme: of.scheme, reducedMotion: 'reduce' });
  await page.setViewportSize({ width: of.width, height: of.height });
  await page.setContent(of.document.replaceAll('hidden data-copy', 'data-copy'));
  const file = path.join(FOLDER, `${name}.png`);
  await page.screenshot({ path: file });
  return fs.statSync(file).size;
}

await ensureBuilt();
fs.mkdirSync(FOLDER, { recursive: true });
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
});
const page = await browser.newPage();
for (const [name, of] of Object.entries(await screenshots())) {
  const bytes = await take(page, name, of);
  process.stdout.write(`docs/images/${name}.png: ${Math.round(bytes / 1_000)} kB\n`);
}
await browser.close();
