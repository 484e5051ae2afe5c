import type { HistoryRecord } from './gmail-api.ts';
import { combine } from './gmail-history.ts';

const record = (id: number, fields: Partial<HistoryRecord>): HistoryRecord => ({
  id: String(id),
  messagesAdded: [],
  messagesDeleted: [],
  labelsAdded: [],
  labelsRemoved: [],
  ...fields,
});
const entry = (id: string, ...labelIds: string[]) => ({
  message: { id, threadId: id, labelIds },
});

describe('combine', () => {
  it('lists a message as new only, if its labels were recorded before the message itself', () => {
    const records = [
      record(1, { labelsAdded: [entry('a', 'INBOX')] }),
      record(2, { messagesAdded: [entry('a', 'INBOX', 'UNREAD')] }),
      record(3, { labelsRemoved: [entry('a', 'INBOX')] }),
    ];
    expect(combine(records)).toEqual({ added: ['a'], removed: [], relabelled: new Map() });
  });

  it('does not know the labels of a message if one record shows several', () => {
    const records = [
      record(1, { labelsAdded: [entry('a', 'STARRED')], labelsRemoved: [entry('a')] }),
      record(2, { labelsAdded: [entry('b', 'X', 'Y')], labelsRemoved: [entry('b', 'Y', 'X')] }),
    ];
    const relabelled = new Map([
      ['a', null],
      ['b', ['Y', 'X']],
    ]);
    expect(combine(records)).toEqual({ added: [], removed: [], relabelled });
  });

  it('lists a message that came and went as removed only', () => {
    const records = [
      record(1, { messagesAdded: [entry('a')], labelsAdded: [entry('b', 'STARRED')] }),
      record(2, { messagesDeleted: [entry('a'), entry('b')] }),
    ];
    expect(combine(records)).toEqual({ added: [], removed: ['a', 'b'], relabelled: new Map() });
  });
});
