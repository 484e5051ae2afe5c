import { jest } from '@jest/globals';
import { Logger, writeLogsWith } from './light.ts';

describe('the logger of files that commands load', () => {
  it('writes to standard error until a server says where lines go', () => {
    const written: string[] = [];
    const spy = jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
      written.push(String(text));
      return true;
    });
    const log = new Logger('Jobs');
    log.warn({ incident: 'send.failed' }, 'a\u001b[2J message');
    log.error(new Error('broken'));
    spy.mockRestore();
    expect(written[0]).toMatch(/^\{"incident":"send.failed"\} a.*message\n$/);
    expect(written[0]).not.toContain('\u001b');
    expect(written[1]).toMatch(/^Error: broken\n/);

    const lines: unknown[][] = [];
    writeLogsWith((context) => ({
      warn: (...line) => void lines.push([context, 'warn', ...line]),
      error: (...line) => void lines.push([context, 'error', ...line]),
    }));
    log.warn('later');
    log.error('worse', 'details');
    expect(lines).toEqual([
      ['Jobs', 'warn', 'later'],
      ['Jobs', 'error', 'worse', 'details'],
    ]);
  });
});
