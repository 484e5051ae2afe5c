import type { ReminderResult } from './reminder-dispatcher.ts';
import { reportReminders } from './reminder-reports.ts';

const DUE = new Date('2026-11-24T08:00:00Z');

/** The lines about one reminder that is settled so many seconds after its time. */
function linesAbout(result: ReminderResult, seconds: number): unknown[] {
  const lines: unknown[] = [];
  const row = {
    id: 'r',
    gateId: 'a',
    dueAt: DUE,
    fence: 1,
    attempt: 1,
    ambiguous: false,
    gateFailures: 0,
  };
  const now = new Date(DUE.getTime() + seconds * 1000);
  reportReminders([{ row, result, next: { kind: 'done' } }], now, (kind, fields, words) =>
    lines.push([kind, fields, words]),
  );
  return lines;
}

describe('reportReminders', () => {
  const of = { account: 'a', reminder: 'r' };

  it('writes a line for a reminder that was sent more than a minute late', () => {
    expect(linesAbout({ kind: 'sent', attempts: 1 }, 61)).toEqual([
      ['reminder.late', { ...of, seconds: 61 }, '61 s'],
    ]);
    expect(linesAbout({ kind: 'sent', attempts: 1 }, 60)).toEqual([]);
  });

  it.each<[string, ReminderResult]>([
    ['reminder.failed', { kind: 'failed', reason: '550 no', refused: null, attempts: 1 }],
    ['reminder.failed', { kind: 'skipped', reason: 'the event has begun', attempts: 0 }],
    [
      'reminder.delayed',
      { kind: 'retry', reason: '450 later', at: DUE, ambiguous: false, lookUps: 0, attempts: 1 },
    ],
  ])('writes %s with the reason for %j', (kind, result) => {
    const { reason } = result as { reason: string };
    expect(linesAbout(result, 0)).toEqual([[kind, of, reason]]);
  });

  it('writes nothing for a reminder that is no longer wanted', () => {
    expect(linesAbout({ kind: 'dropped' }, 600)).toEqual([]);
  });
});
