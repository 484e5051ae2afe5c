import { html, type Html } from '../../../platform/pages/html.ts';

const SECOND = 1000;
const STEPS = [
  { unit: 'd', ms: 86_400_000 },
  { unit: 'h', ms: 3_600_000 },
  { unit: 'min', ms: 60_000 },
  { unit: 's', ms: SECOND },
] as const;

/** A length of time in its largest unit, such as `3 min`. Below a second: milliseconds. */
export function duration(ms: number): string {
  const length = Math.abs(ms);
  const step = STEPS.find((one) => length >= one.ms);
  if (!step) return `${Math.round(length)} ms`;
  const amount = length / step.ms;
  const shown = amount < 10 && step.unit === 's' ? amount.toFixed(1) : String(Math.floor(amount));
  return `${shown.replace(/\.0$/, '')} ${step.unit}`;
}

/** An absolute time in UTC, such as `24 Nov 2026, 03:27:22 UTC`. */
export function absolute(at: Date): string {
  const [, day, month, year, time] = /, (\d\d) (\w+) (\d+) (\S+)/.exec(at.toUTCString()) ?? [];
  return `${Number(day)} ${month} ${year}, ${time} UTC`;
}

/** A time in relation to now, such as `3 min ago` or `in 2 h`. */
export function relative(at: Date, now: Date): string {
  const difference = at.getTime() - now.getTime();
  if (Math.abs(difference) < SECOND) return 'now';
  const length = duration(Math.trunc(difference / SECOND) * SECOND);
  return difference < 0 ? `${length} ago` : `in ${length}`;
}

/** A relative time that shows the absolute one when pointed at. `null` renders as a dash. */
export function when(at: Date | null, now: Date): Html {
  if (at === null) return html`<span class="nothing">–</span>`;
  return html`<time datetime="${at.toISOString()}" title="${absolute(at)}"
    >${relative(at, now)}</time
  >`;
}

/** The absolute time, followed by the relative one. `null` renders as a dash. */
export function exactly(at: Date | null, now: Date): Html {
  if (at === null) return html`<span class="nothing">–</span>`;
  return html`<time datetime="${at.toISOString()}">${absolute(at)}</time>
    <span class="aside ago">${relative(at, now)}</span>`;
}
