import { describe, expect, it } from '@jest/globals';
import { deltasJson } from './deltas.ts';

const stored = (type: string) =>
  Buffer.from(JSON.stringify({ deltas: [{ type, object_data: { id: 'ü}]}' } }] }));

describe('deltasJson', () => {
  it('numbers each delta', () => {
    const body = deltasJson([
      { id: 'a', seq: 4, previousSeq: null, body: stored('job.failed') },
      { id: 'b', seq: 9, previousSeq: 4, body: stored('job.delayed') },
    ]);
    const object_data = { id: 'ü}]}' };
    expect(JSON.parse(body.toString())).toEqual({
      deltas: [
        { type: 'job.failed', object_data, event_id: 'a', sequence: 4, previous_sequence: null },
        { type: 'job.delayed', object_data, event_id: 'b', sequence: 9, previous_sequence: 4 },
      ],
    });
  });

  it('is a body without deltas if there are no events', () => {
    expect(deltasJson([]).toString()).toBe('{"deltas":[]}');
  });
});
