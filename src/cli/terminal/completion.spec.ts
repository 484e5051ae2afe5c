import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Command, Option } from 'commander';
import { candidatesFor, completionScript, formatCandidates } from './completion.ts';

function programOf(): Command {
  const program = new Command('tool').option('--json', 'print JSON');
  program.addOption(new Option('-o, --output <format>', 'format').choices(['json', 'table']));
  const events = program.command('events').alias('event').description('Events');
  events.command('feed').description('Show it');
  events.command('feed:make').description('Make it');
  events.command('get').description('Read\nthem');
  return program;
}

describe('completion', () => {
  const wordsFor = (line: string): string[] =>
    candidatesFor(programOf(), line, (command) =>
      command.name() === 'get' ? [{ word: '--unread=' }] : [],
    ).map(({ word }) => word);

  it.each([
    ['tool ', ['events']],
    ['tool --json ev', ['events']],
    ['tool event fe', ['feed', 'feed:make']],
    ['tool events get --', ['--unread=', '--json', '--output=']],
    ['tool events get --output=t', ['--output=table']],
    ['tool events get -o ', ['json', 'table']],
    ['tool events get x', []],
  ])('offers what can follow %j', (line, words) => {
    expect(wordsFor(line)).toEqual(words);
  });

  it('gives each candidate one line, with its description after a tab', () => {
    expect(formatCandidates(candidatesFor(programOf(), 'tool events g'))).toBe('get\tRead them\n');
  });

  it.each([
    ['my-tool ev', 'events'],
    ['my-tool events feed:', 'make'],
    ['my-tool events get --output=t', 'table'],
  ])('completes %j in bash with what follows the last : or =', (line, reply) => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-completion-'));
    const stub = path.join(folder, 'my-tool');
    const answer = formatCandidates(candidatesFor(programOf(), line.replace('my-tool', 'tool')));
    fs.writeFileSync(path.join(folder, 'answer'), answer);
    fs.writeFileSync(stub, `#!/bin/sh\ncat "$(dirname "$0")/answer"\n`, { mode: 0o755 });
    const script = `${completionScript('bash', 'my-tool')}
      COMP_LINE="$1"; COMP_POINT=\${#COMP_LINE}; _my_tool; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const out = execFileSync('bash', ['--norc', '-c', script, 'bash', line], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { PATH: `${folder}:${process.env['PATH'] ?? ''}` },
    });
    fs.rmSync(folder, { recursive: true });
    expect(out.trim()).toBe(reply);
  });
});
