/*
 * Loaded before a program with `node --import`: shifts its clock by CLOCK_SHIFT_MS milliseconds.
 * Only the time of day changes. Timers and `performance.now()` run as on a machine whose clock is
 * set wrongly.
 */

const SHIFT_MS = Number(process.env['CLOCK_SHIFT_MS'] ?? 0);
const rightNow = Date.now.bind(Date);
const now = () => rightNow() + SHIFT_MS;

globalThis.Date = new Proxy(Date, {
  construct: (target, parts, as) =>
    Reflect.construct(target, parts.length > 0 ? parts : [now()], as) as Date,
  apply: () => new Date(now()).toString(),
  get: (target, name) => (name === 'now' ? now : (Reflect.get(target, name) as unknown)),
});
