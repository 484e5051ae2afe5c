import fs from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import { ROOT } from '../../scripts/lib/project.ts';
import type { OperatorIo } from '../../src/cli/carillon/cli.ts';
import { createProgram as createCarillon } from '../../src/cli/carillon/program.ts';
import { GROUPS } from '../../src/cli/client/groups/groups.ts';
import { type Invocation, planRequest } from '../../src/cli/client/invoke.ts';
import { createProgram as createApi } from '../../src/cli/client/program.ts';
import { type CommandLine, commandLines, npmLines } from '../support/docs/command-lines.ts';

const silent: OperatorIo = { environment: {}, print: () => {}, write: () => {} };

/** Every command below this one, itself included. */
const whole = (command: Command): Command[] => [command, ...command.commands.flatMap(whole)];

/** Reads standard input as `{}`: the files that pages redirect into commands do not exist here. */
const check = ({ flags, ...rest }: Invocation) =>
  planRequest({
    ...rest,
    flags: rest.action.body ? { ...flags, body: flags.body ?? '{}' } : flags,
  });

/** A program that checks its command line and does nothing else. */
async function create({ program, args }: CommandLine): Promise<Command> {
  const command =
    program === 'carillon' ? await createCarillon(args, silent) : createApi(true, check);
  for (const group of command.commands) {
    // `check` stands for the methods of the API, but not for other commands such as `listen`.
    const checked = program === 'carillon' ? {} : (GROUPS[group.name()]?.actions ?? {});
    for (const each of whole(group))
      if (each.commands.length === 0 && !(each.name() in checked)) each.action(() => {});
  }
  for (const each of whole(command))
    each.configureOutput({ writeOut: () => {}, writeErr: () => {} });
  return command;
}

/** Errors of commander that are no fault of a page: it asks for help, or names a group. */
const RIGHT = new Set(['commander.help', 'commander.helpDisplayed', 'commander.version']);

async function parse(line: CommandLine): Promise<void> {
  const command = await create(line);
  try {
    await command.parseAsync(line.args, { from: 'user' });
  } catch (error) {
    const { code = '', message } = error as { code?: string; message: string };
    const isNameOnly = code.startsWith('commander.missing') || message.includes('needs an id');
    if (RIGHT.has(code) || (line.inText && isNameOnly)) return;
    throw error;
  }
}

const LINES = commandLines();

describe('the pages', () => {
  it('have many lines of both commands', () => {
    const count = (program: string) => LINES.filter((line) => line.program === program).length;
    expect(count('carillon')).toBeGreaterThan(100);
    expect(count('carillon-api')).toBeGreaterThan(50);
  });

  it('show only lines of carillon and carillon-api that the commands accept', async () => {
    const refused: string[] = [];
    for (const line of LINES)
      await parse(line).catch(({ message }: Error) =>
        refused.push(`${line.at}: ${line.program} ${line.args.join(' ')}: ${message}`),
      );
    expect(refused).toEqual([]);
  });

  it('show only npm scripts that exist', () => {
    const { scripts } = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    const own = npmLines().filter(({ words }) => !words.includes('--prefix'));
    expect(own.length).toBeGreaterThan(50);
    const missing = own.flatMap(({ at, words }) => {
      const [, verb, script] = words.filter((word) => !/^-s$|^--silent$/.test(word));
      if (verb !== 'run' || script === undefined || script === '…') return [];
      return script in scripts ? [] : [`${at}: npm run ${script}`];
    });
    expect(missing).toEqual([]);
  });

  it('show only lines of Jest that name projects and files of tests', () => {
    const specs = fs
      .readdirSync(ROOT + '/test', { recursive: true, encoding: 'utf8' })
      .map((file) => `test/${file}`);
    const wrong = npmLines().flatMap(({ at, words }) => {
      const jest = words.indexOf('jest');
      const given = words.slice(jest + 1).filter((word) => word !== '--');
      // An option with a list takes everything up to the next "--" (reads a path as a project).
      const projects = /--selectProjects ((?:[\w/]+ )*[\w/]+)/.exec(words.join(' '))?.[1] ?? '';
      const isPath = (word: string) => word.startsWith('test/');
      if (jest === -1) return [];
      if (projects.split(' ').some(isPath)) return [`${at}: reads a path as a project`];
      const none = given.filter(
        (word) => isPath(word) && !specs.some((file) => file.startsWith(word)),
      );
      return none.map((word) => `${at}: no test is at ${word}`);
    });
    expect(wrong).toEqual([]);
  });
});
