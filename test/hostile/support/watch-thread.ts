import { readFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';

/*
 * The thread of `watch.ts`. It runs apart from the tests, so that they cannot delay its requests
 * and measurements.
 */

const { targets, pid } = workerData as {
  targets: { name: string; url: string; headers: Record<string, string> }[];
  pid: number;
};
const EVERY_MS = 50;
const GIVE_UP_MS = 120_000;
const stop = new AbortController();
let highestRssKb = 0;
const failures: string[] = [];
const longest: Record<string, number> = {};
const answers: Record<string, number> = {};

const pause = () => new Promise((resolve) => setTimeout(resolve, EVERY_MS));

/** Resident memory of a process and its children, in kB. 0 if the system has no /proc. */
function rssOf(id: number): number {
  try {
    const status = readFileSync(`/proc/${id}/status`, 'utf8');
    const own = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0);
    const children = readFileSync(`/proc/${id}/task/${id}/children`, 'utf8')
      .split(' ')
      .filter(Boolean);
    return own + children.reduce((sum, child) => sum + rssOf(Number(child)), 0);
  } catch {
    // The process has ended, or the system has no /proc.
    return 0;
  }
}

async function ask({ name, url, headers }: (typeof targets)[number]): Promise<void> {
  while (!stop.signal.aborted) {
    const began = performance.now();
    try {
      const response = await fetch(url, { headers, signal: AbortSignal.timeout(GIVE_UP_MS) });
      await response.arrayBuffer();
      if (response.status !== 200) failures.push(`${name}: ${response.status}`);
    } catch (error) {
      failures.push(`${name}: ${String(error)}`);
    }
    longest[name] = Math.max(longest[name] ?? 0, performance.now() - began);
    answers[name] = (answers[name] ?? 0) + 1;
    await pause();
  }
}

async function weigh(): Promise<void> {
  while (!stop.signal.aborted) {
    highestRssKb = Math.max(highestRssKb, rssOf(pid));
    await pause();
  }
}

parentPort?.once('message', () => stop.abort());
await Promise.all([...targets.map(ask), weigh()]);
const watched = {
  longestMs: Math.round(Math.max(0, ...Object.values(longest))),
  longest,
  answers,
  highestRssMb: Math.round(highestRssKb / 1024),
  failures,
};
parentPort?.postMessage(watched, []);
