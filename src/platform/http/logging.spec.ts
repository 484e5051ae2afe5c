import type { Options } from 'pino-http';
import { pino } from 'pino';
import { loadConfig } from '../config/app-config.ts';
import { loggerOptions, serializeError } from './logging.ts';

/** An error as the driver throws it, after the ORM has added the detail to the message. */
const databaseError = (code: string, message: string): Error =>
  Object.assign(new Error(message), { code, detail: 'eve', query: 'eve', parameters: ['eve'] });

describe('serializeError', () => {
  it('keeps type, message, code, stack and causes', () => {
    const cause = Object.assign(new TypeError('inner'), { code: 'E_INNER' });
    expect(serializeError(new Error('outer', { cause }))).toEqual({
      type: 'Error',
      message: 'outer',
      code: undefined,
      stack: expect.stringMatching(/^Error: outer\n +at /),
      cause: expect.objectContaining({ type: 'TypeError', message: 'inner', code: 'E_INNER' }),
    });
  });

  it.each([
    [
      '23514',
      'new row violates "x"\n - detail: Failing row contains (eve@example.test,\n    at eve).',
      'new row violates "x"',
    ],
    ['23505', 'duplicate key "x"\n - detail: Key (email)=(eve) exists.', 'duplicate key "x"'],
    [
      '22P02',
      'invalid input syntax for type uuid: "eve\n"eve"',
      'invalid input syntax for type uuid',
    ],
  ])('removes the rows and values that a %s error quotes', (code, message, shown) => {
    const serialized = serializeError(
      new Error('wrapper', { cause: databaseError(code, message) }),
    );
    expect(serialized).toMatchObject({ cause: { message: shown, code } });
    expect(JSON.stringify(serialized)).not.toContain('eve');
  });

  it('accepts a value that is not an error', () => {
    expect(serializeError('text')).toEqual({ message: 'text' });
  });
});

describe('a log line', () => {
  it('contains untrusted text without terminal control characters, and still parses to the same text', () => {
    const config = loadConfig({
      DATABASE_URL: 'postgres://x/y',
      ENCRYPTION_KEYS: `k:${Buffer.alloc(32).toString('base64')}`,
    });
    const text = 'a\u001b]0;t\u0007\u009b2J\u007f\u202eb\n';
    let written = '';
    const { hooks, mixin, serializers } = loggerOptions(config).pinoHttp as Options;
    pino({ hooks, mixin, serializers }, { write: (line: string) => (written += line) }).warn(
      { text },
      text,
    );
    expect(written).toMatch(/^[^\p{Cc}\u202e]+\n$/u);
    expect(JSON.parse(written)).toMatchObject({ text, msg: text });
  });

  it('about a module or a route that Nest has found is written at the level debug only', () => {
    const config = loadConfig({
      DATABASE_URL: 'postgres://x/y',
      ENCRYPTION_KEYS: `k:${Buffer.alloc(32).toString('base64')}`,
    });
    const { hooks } = loggerOptions(config).pinoHttp as Options;
    const linesAt = (level: string) => {
      const lines: string[] = [];
      const log = pino({ hooks, level }, { write: (line: string) => void lines.push(line) });
      log.info({ context: 'RouterExplorer' }, 'Mapped');
      log.warn({ context: 'RouterExplorer' }, 'unusual');
      log.info({ context: 'Carillon' }, 'listening');
      return lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
    };
    expect(linesAt('info')).toEqual(['unusual', 'listening']);
    expect(linesAt('debug')).toEqual(['Mapped', 'unusual', 'listening']);
  });
});
