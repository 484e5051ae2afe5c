import { jest } from '@jest/globals';
import { type ProgressStream, withProgress } from './progress.ts';

describe('withProgress', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  async function written(isTTY: boolean): Promise<string> {
    let text = '';
    const stream: ProgressStream = { isTTY, write: (more) => (text += more) };
    const work = async (update: (step: string) => void) => {
      update('Second step');
      jest.advanceTimersByTime(11_000);
      return 'result';
    };
    expect(await withProgress('First step', work, stream)).toBe('result');
    jest.advanceTimersByTime(60_000);
    return text;
  }

  it('shows the step and its seconds in one line of a terminal, and removes the line at the end', async () => {
    const steps = (await written(true)).split('\r\u001b[K');
    expect(steps.slice(0, 3)).toEqual(['', 'First step… 0 s', 'Second step… 0 s']);
    expect(steps.at(-2)).toBe('Second step… 11 s');
    expect(steps.at(-1)).toBe('');
  });

  it('writes a plain line every ten seconds if there is no terminal', async () => {
    expect(await written(false)).toBe('Second step… 10 s\n');
  });

  it('shows nothing without a stream', async () => {
    expect(await withProgress('x', async () => 1, null)).toBe(1);
  });
});
