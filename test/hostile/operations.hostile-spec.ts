import { spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a terminal obeys: the clipboard, the title, the screen, the direction of text. */
const ATTACK =
  '\u001b]52;c;cm0gLXJmIH4=\u0007\u001b]0;title\u0007\u001b[2J\u009b2J\u202ereversed\u2066\u007f\b\r\n\tX';
const CONTROLS = /(?![\n\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/u;

const MESSAGE = { id: 'm1', subject: ATTACK, from: [{ email: `eve@example.test${ATTACK}`, name: ATTACK }] };

/** A server, or what its users wrote into it, that attacks the terminal of whoever runs `api`. */
function answer(request: http.IncomingMessage, response: http.ServerResponse): void {
  const url = new URL(request.url ?? '/', 'http://server');
  if (url.searchParams.has('fail')) {
    response.writeHead(400).end(JSON.stringify({ message: ATTACK, type: ATTACK, missing_fields: [ATTACK] }));
  } else if (url.searchParams.has('text')) {
    response.writeHead(502).end(ATTACK);
  } else if (url.pathname.endsWith('/streaming')) {
    // As a server must not write it: control characters outside of escapes.
    response.end(`${JSON.stringify(MESSAGE)}\n{"broken":"${ATTACK.replaceAll(/[\r\n]/g, '')}"}\n`);
  } else if (request.headers.accept === 'message/rfc822' || url.pathname.endsWith('/download')) {
    response.end(`Subject: ${ATTACK}\r\n\r\n`);
  } else {
    response.end(JSON.stringify(url.pathname.endsWith('/m1') ? { ...MESSAGE, [ATTACK]: 1 } : [MESSAGE]));
  }
}

describe('the api command, given text that attacks terminals', () => {
  const server = http.createServer(answer);
  let url: string;

  beforeAll(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => server.close());

  const quoted = (words: readonly string[]) => words.map((word) => `'${word}'`).join(' ');

  /** @param terminal whether standard output is one; else it is a pipe */
  async function api(words: readonly string[], terminal = false): Promise<string> {
    const command = [process.execPath, 'src/cli/api.ts', ...words];
    // script(1) runs a command on a terminal of its own.
    const [program = '', ...args] = terminal ? ['script', '-qec', quoted(command), '/dev/null'] : command;
    const child = spawn(program, args, {
      env: {
        PATH: process.env['PATH'],
        HOME: '/nonexistent',
        CARILLON_API_URL: url,
        CARILLON_ACCESS_TOKEN: 't',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => (output += chunk.toString()));
    }
    await once(child, 'close');
    // A terminal ends its lines with both.
    return terminal ? output.replaceAll('\r\n', '\n') : output;
  }

  it.each([
    [['messages', 'get']],
    [['messages', 'get', 'm1']],
    [['messages', 'get', '--output=table']],
    [['messages', 'get', 'm1', '--output=table']],
    [['messages', 'get', '--output=table', '--display_columns=from,subject']],
    [['delta', 'streaming', '--cursor=0']],
    [['messages', 'get', '--fail=1']],
    [['messages', 'get', '--text=1']],
  ])('prints no control character for %j', async (words) => {
    const output = await api(words);
    expect(output).not.toMatch(CONTROLS);
    expect(output).toContain('reversed');
  });

  it('prints JSON that means exactly what the server sent', async () => {
    expect(JSON.parse(await api(['messages', 'get']))).toEqual([MESSAGE]);
  });

  it.each([[['messages', 'get', 'm1', '--raw']], [['files', 'download', 'f1']]])(
    'shows %j on a terminal without control characters, and gives a pipe every byte',
    async (words) => {
      expect(await api(words)).toBe(`Subject: ${ATTACK}\r\n\r\n`);
      const shown = await api(words, true);
      expect(shown).toContain('reversed');
      expect(shown).not.toMatch(CONTROLS);
    },
  );
});
