import fs from 'node:fs';
import { COMPOSING_BYTES } from '../../src/mail/composing/composing-slots.ts';
import { MOST_LONG_BYTES } from '../../src/mail/outbox/send/send-message.ts';
import { DIRECT_SEND_BYTES } from '../../src/mail/send/send-slots.ts';
import { LARGE_RESPONSE_BYTES } from '../../src/platform/base/large-responses.ts';
import { BODY_LIMITS } from '../../src/platform/http/bodies/body-budget.ts';
import { WORK_LIMITS } from '../../src/platform/threads/work-threads.ts';
import { CONTENT_BYTES } from '../../src/providers/imap/sessions/imap-input.ts';

const MB = 2 ** 20;
const read = (name: string) => fs.readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');

/** The rows of the table "Memory of a process" in docs/security/limits.md. */
const rows = (
  /## Memory of a process\n[^]*?\n\n(\|[^]*?)\n\n/.exec(read('docs/security/limits.md'))?.[1] ?? ''
)
  .split('\n')
  .slice(2)
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.replaceAll('*', '').trim()),
  );
const amount = (cell = '') => (cell === '–' ? 0 : Number(cell));

/** The limits in the code, in the order of the table. */
const LIMITS = [
  WORK_LIMITS.togetherMb,
  BODY_LIMITS.known.most / MB,
  BODY_LIMITS.public.most / MB,
  LARGE_RESPONSE_BYTES / MB,
  COMPOSING_BYTES / MB,
  DIRECT_SEND_BYTES / MB,
  MOST_LONG_BYTES / MB,
  CONTENT_BYTES / MB,
];

describe('the memory of a process', () => {
  const parts = rows.slice(0, -1);
  const [, , , ...sums] = rows.at(-1) ?? [];

  it('has the limits that docs/security/limits.md lists, each with what it counts as', () => {
    const [, ...limited] = parts;
    expect(limited.map(([, limit]) => Number(limit))).toEqual(LIMITS);
    for (const [what, limit, times, ...roles] of limited)
      for (const role of roles)
        expect([what, [0, Number(limit) * Number(times)]]).toEqual([
          what,
          expect.arrayContaining([amount(role)]),
        ]);
  });

  it.each([
    ['api', 0],
    ['worker', 1],
  ])('of the role %s adds up to less than the shipped containers have', (role, column) => {
    const sum = parts.reduce((total, row) => total + amount(row[3 + column]), 0);
    expect(sums[column]).toBe(String(sum));
    const [, gibibytes] =
      /limits: \{ memory: (\d+)Gi \}/.exec(read(`deploy/kubernetes/${role}.yaml`)) ?? [];
    const [, compose] =
      /^x-carillon:[^]*?^  mem_limit: (\d+)g$[^]*?^services:/m.exec(read('docker-compose.yml')) ??
      [];
    for (const container of [gibibytes, compose])
      expect(sum).toBeLessThan(Number(container) * 1024);
  });

  it('of one thread or process fits into the limit of all together', () => {
    const { short, long, togetherMb } = WORK_LIMITS;
    for (const { memory } of [short, long])
      expect(
        'residentMb' in memory ? memory.residentMb : memory.heapMb + memory.buffersMb,
      ).toBeLessThan(togetherMb);
  });
});
