import type { Options } from 'pino-http';
import { pino } from 'pino';
import { loadConfig } from '../config/app-config.ts';
import { loggerOptions, serializeError } from './logging.ts';

/** As the driver throws it, after the ORM has put the detail into the message. */
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
  ])('leaves out what a %s quotes of rows and values', (code, message, shown) => {
    const serialized = serializeError(
      new Error('wrapper', { cause: databaseError(code, message) }),
    );
    expect(serialized).toMatchObject({ cause: { message: shown, code } });
    expect(JSON.stringify(serialized)).not.toContain('eve');
  });

  it('takes what is no error', () => {
    expect(serializeError('text')).toEqual({ message: 'text' });
  });
});

describe('a line of the log', () => {
  it('holds text of strangers without characters that a terminal obeys, and means the same', () => {
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
});
