import { isReplySubject, subjectKey } from '../../formats/text/subject.ts';
import {
  type KnownThread,
  subjectToFind,
  type ThreadedMessage,
  ThreadPlan,
} from './thread-plan.ts';

const DAY = 86_400_000;
const message = (
  messageIdHeader: string | null,
  overrides: Partial<ThreadedMessage> = {},
): ThreadedMessage => ({
  messageIdHeader,
  inReplyTo: null,
  references: [],
  subject: '',
  date: new Date(0),
  participants: ['me@x.test', 'you@x.test'],
  providerThreadId: null,
  ...overrides,
});
const planOf = (known: Record<string, [string, number]> = {}) =>
  new ThreadPlan(
    new Map(
      Object.entries(known).map(([header, [threadId, at]]): [string, KnownThread] => [
        header,
        { threadId, firstMessageAt: new Date(at) },
      ]),
    ),
    'me@x.test',
  );
/**
 * Places messages one by one, each with a plan of its own, as batches do. Message-IDs named by one
 * message are known to the next.
 */
function placeAll(messages: readonly ThreadedMessage[]): string[] {
  const known = new Map<string, KnownThread>();
  const threads: string[] = [];
  for (const one of messages) {
    const plan = new ThreadPlan(known, 'me@x.test');
    threads.push(plan.place(one, undefined, undefined));
    for (const { header, threadId } of plan.named())
      known.set(header, { threadId, firstMessageAt: one.date });
    for (const { from, into } of plan.merged()) {
      for (const [header, thread] of known)
        if (thread.threadId === from) known.set(header, { ...thread, threadId: into });
      for (const [n, thread] of threads.entries()) if (thread === from) threads[n] = into;
    }
  }
  return threads;
}

describe('ThreadPlan', () => {
  const conversation = [
    message('<a>'),
    message('<b>', { inReplyTo: '<a>' }),
    message('<c>', { references: ['<a>', '<b>'] }),
    message('<d>', { references: ['<a>', '<b>', '<c>'] }),
    message('<e>', { inReplyTo: '<d>' }),
  ];
  const orders = [
    [0, 1, 2, 3, 4],
    [4, 3, 2, 1, 0],
    [2, 4, 0, 3, 1],
    [4, 0, 2, 1, 3],
    [1, 4, 3, 0, 2],
  ];
  it.each(orders.map((order) => [order.join(' '), order] as const))(
    'puts related messages into one thread, in the order %s',
    (_, order) => {
      expect(new Set(placeAll(order.flatMap((n) => conversation[n] ?? []))).size).toBe(1);
    },
  );

  it('merges two threads into the older one when a message refers to both', () => {
    const plan = planOf({ '<a>': ['old', 1], '<b>': ['new', 2] });
    expect(plan.place(message('<c>', { references: ['<b>', '<a>'] }), undefined, undefined)).toBe(
      'old',
    );
    expect(plan.merged()).toEqual([{ from: 'new', into: 'old' }]);
    expect(plan.named()).toEqual([{ header: '<c>', threadId: 'old' }]);
  });

  it('keeps the thread that was promised', () => {
    const plan = planOf({ '<a>': ['old', 1] });
    expect(plan.place(message('<own>', { inReplyTo: '<a>' }), 'promised', undefined)).toBe(
      'promised',
    );
    expect(plan.merged()).toEqual([{ from: 'old', into: 'promised' }]);
  });

  it('merges at most five threads because of one message', () => {
    const known = Object.fromEntries(
      Array.from({ length: 50 }, (_, n) => [`<${n}>`, [`T${n}`, n] as [string, number]]),
    );
    const plan = planOf(known);
    plan.place(message('<x>', { references: Object.keys(known) }), undefined, undefined);
    expect(plan.merged().length).toBeLessThan(6);
  });

  it('follows merges of merged threads', () => {
    const plan = planOf({ '<a>': ['A', 1], '<b>': ['B', 2], '<c>': ['C', 3] });
    plan.place(
      message('<1>', { references: ['<b>', '<c>'], date: new Date(9) }),
      undefined,
      undefined,
    );
    plan.place(
      message('<2>', { references: ['<a>', '<c>'], date: new Date(9) }),
      undefined,
      undefined,
    );
    expect(plan.merged()).toEqual([
      { from: 'C', into: 'A' },
      { from: 'B', into: 'A' },
    ]);
  });

  it('connects replies without references by subject, participants and time', () => {
    const place = (answer: Partial<ThreadedMessage>) => {
      const plan = planOf();
      const first = plan.place(message('<a>', { subject: 'Lunch' }), undefined, undefined);
      return (
        plan.place(
          message('<b>', { subject: 'Re: lunch', date: new Date(DAY), ...answer }),
          undefined,
          undefined,
        ) === first
      );
    };
    expect(place({})).toBe(true);
    expect(place({ subject: 'AW: Re[2]: Lunch' })).toBe(true);
    expect(place({ subject: 'Lunch' })).toBe(false);
    expect(place({ subject: 'Fwd: Lunch' })).toBe(false);
    expect(place({ subject: 'Re: dinner' })).toBe(false);
    expect(place({ participants: ['me@x.test', 'other@x.test'] })).toBe(false);
    expect(place({ date: new Date(40 * DAY) })).toBe(false);
    expect(place({ inReplyTo: '<unknown>' })).toBe(false);
  });
});

describe('subjectKey and isReplySubject', () => {
  it.each([
    ['Re: Lunch', 'lunch'],
    ['RE : Re[3]: AW:  Lunch  today', 'lunch today'],
    ['Fwd: Re: Lunch', 'lunch'],
    ['回复：午饭', '午饭'],
    ['回覆: 午飯', '午飯'],
    ['Ответ: Обед', 'обед'],
    ['НА: Отв: Обед', 'обед'],
    ['ΑΠ: ΣΧΕΤ: Γεύμα', 'γεύμα'],
    ['رد: غداء', 'غداء'],
    ['회신: 점심', '점심'],
    ['답장: Re: 점심', '점심'],
    ['[EXT] Re: Lunch', 'lunch'],
    ['[EXTERNAL] [EXT] RE: [EXT] Lunch', 'lunch'],
    ['[EXT] Lunch', 'lunch'],
    ['[list] Lunch', '[list] lunch'],
    ['Reminder: Lunch', 'reminder: lunch'],
    ['Re:', null],
    ['   ', null],
  ])('subjectKey turns %j into %j', (subject, key) => {
    expect(subjectKey(subject)).toBe(key);
  });

  it('recognises the subjects of replies', () => {
    const subjects = ['Re: x', 'SV: x', 'Отв: x', '[EXT] 회신: x', 'Re', 'Fwd: x', '', '[EXT] x'];
    expect(subjects.map(isReplySubject)).toEqual([
      true,
      true,
      true,
      true,
      false,
      false,
      false,
      false,
    ]);
    expect(subjectToFind(message(null, { subject: 'Re: ' }))).toBeNull();
  });

  it('reads very long subjects quickly', () => {
    expect(subjectKey('re: '.repeat(100_000))).toBeNull();
  });

  describe('with threads of the provider', () => {
    const inThread = (id: string, header: string, overrides: Partial<ThreadedMessage> = {}) =>
      message(header, { providerThreadId: id, ...overrides });

    it('puts the messages of one provider thread into one thread, although no header connects them', () => {
      const [first, second, other] = placeAll([
        inThread('T1', '<a>'),
        inThread('T1', '<b>'),
        inThread('T2', '<c>'),
      ]);
      expect(second).toBe(first);
      expect(other).not.toBe(first);
    });

    it('keeps messages of two provider threads apart, although their headers and subjects connect them', () => {
      const conversation = [
        inThread('T1', '<a>', { subject: 'Lunch' }),
        inThread('T2', '<b>', { subject: 'Re: Lunch', inReplyTo: '<a>', references: ['<a>'] }),
        inThread('T2', '<c>', { subject: 'Re: Lunch' }),
      ];
      for (const order of [conversation, conversation.toReversed()]) {
        const threads = placeAll(order);
        const [a, b, c] = order === conversation ? threads : threads.toReversed();
        expect(b).not.toBe(a);
        expect(c).toBe(b);
      }
    });

    it('merges the thread of the provider into the thread that was promised for a sent message', () => {
      const plan = new ThreadPlan(
        new Map([['thread:T1', { threadId: 'known', firstMessageAt: new Date(0) }]]),
        'me@x.test',
      );
      expect(plan.place(inThread('T1', '<a>'), 'promised', undefined)).toBe('promised');
      expect(plan.merged()).toEqual([{ from: 'known', into: 'promised' }]);
      expect(plan.final(plan.place(inThread('T1', '<b>'), undefined, undefined))).toBe('promised');
    });

    it('gives a message without a provider thread the thread of the message that it names', () => {
      const [first, second] = placeAll([
        inThread('T1', '<a>'),
        message('<b>', { inReplyTo: '<a>' }),
      ]);
      expect(second).toBe(first);
    });
  });
});
