import fs from 'node:fs';
import { Command } from 'commander';
import { OperatorCli } from './cli.ts';
import { GROUPS } from './groups.ts';
import { run } from './program.ts';

interface Outcome {
  printed: string;
  written: string;
  error?: { exitCode: number; message: string };
}

async function carillon(...args: string[]): Promise<Outcome> {
  const outcome: Outcome = { printed: '', written: '' };
  await run(args, {
    environment: {},
    print: (text) => (outcome.printed += text),
    write: (text) => (outcome.written += text),
  }).catch((error: Outcome['error']) => (outcome.error = error));
  return outcome;
}

/** Every command that can be run, with its name after `carillon`. */
async function runnable(): Promise<[string, Command][]> {
  const leaves = (command: Command, line: string): [string, Command][] =>
    command.commands.length === 0
      ? [[line, command]]
      : command.commands.flatMap((inner) => leaves(inner, `${line} ${inner.name()}`));
  const cli = new OperatorCli({ environment: {}, print: () => {}, write: () => {} });
  const all = GROUPS.map(async (group) => {
    const command = new Command(group.name);
    (await group.load()).add(command, cli);
    return leaves(command, group.name);
  });
  return (await Promise.all(all)).flat();
}
const COMMANDS = await runnable();

describe('the command line of carillon', () => {
  it('offers the groups, their commands, options and choices for completion', async () => {
    const words = async (line: string) =>
      (await carillon('__complete', line)).printed.split('\n').map((one) => one.split('\t')[0]);
    expect(await words('carillon ')).toEqual([...GROUPS.map(({ name }) => name), 'completion']);
    expect(await words('carillon application rot')).toEqual(['rotate-secret']);
    expect(await words('carillon --json applications create --re')).toEqual([
      '--region=',
      '--response-type-token',
      '--revoke-tokens-on-sign-in',
    ]);
    expect(await words('carillon application create --plan=')).toEqual([
      '--plan=quickstart',
      '--plan=standard',
    ]);
  });

  it('prints completion scripts for three shells', async () => {
    for (const shell of ['bash', 'zsh', 'fish'])
      expect((await carillon('completion', shell)).printed).toContain('carillon __complete');
    expect((await carillon('completion', 'tcsh')).written).toContain('Allowed choices are bash');
  });

  it('names the nearest command for one that does not exist', async () => {
    expect((await carillon('aplication')).written).toContain('Did you mean application?');
    expect((await carillon('keys', 'genrate')).written).toContain('Did you mean generate?');
  });

  it('leaves errors of the command line to the caller with --json', async () => {
    const { written, error } = await carillon('keys', 'genrate', '--json');
    expect(written).toBe('');
    expect(error).toMatchObject({ exitCode: 1, message: expect.stringContaining('genrate') });
  });

  it.each(GROUPS.map(({ name }) => name))('shows the help of %s without services', async (name) => {
    const { printed, error } = await carillon(name, '--help');
    expect(printed).toContain(`Usage: carillon ${name}`);
    expect(error).toMatchObject({ exitCode: 0 });
  });

  it.each(COMMANDS)(
    'shows in the help of %s an example that the command accepts',
    async (line, command) => {
      const { printed } = await carillon(...line.split(' '), '--help');
      const [, example = ''] = /\nExample:\n {2}(.+)$/.exec(printed) ?? [];
      expect(example).toMatch(new RegExp(`^carillon ${line}( |$)`));
      for (const [, flag = '', value = ''] of example.matchAll(/ (--[a-z-]+)(?:=(\S+))?/g)) {
        expect(printed).toMatch(new RegExp(`^ +(-., )?${flag}\\b`, 'm'));
        const choices = command.options.find(({ long }) => long === flag)?.argChoices;
        if (choices) expect(choices).toContain(value);
      }
    },
  );

  it('lists the filters of a list apart from its other options, and those of all commands', async () => {
    const { printed } = await carillon('jobs', 'list', '--help');
    expect(printed).toMatch(
      /Filters:\n +--kind [\s\S]+Options:\n[\s\S]*--all [\s\S]+Global Options:/,
    );
    expect(printed).toMatch(/-o, --output <format> .*"json", "jsonl", "csv", "table"/s);
  });

  it.each([
    [['jobs', 'list', '--nothing'], 'carillon jobs list --help'],
    [['operator', 'token', 'create'], 'carillon operator token create --help'],
    [['--output', 'xml', 'jobs', 'list'], 'carillon --help'],
  ])('names after the error of %j the help of that command', async (args, help) => {
    expect((await carillon(...args)).written).toContain(`(more: ${help})`);
  });

  it('finds the group after options with values', async () => {
    const { printed } = await carillon('--output', 'csv', '-o', 'json', 'jobs', 'list', '--help');
    expect(printed).toContain('Usage: carillon jobs list');
  });
});

describe('docs/commands.md', () => {
  const page = fs.readFileSync('docs/commands.md', 'utf8');

  it('has a row for each group, in the order of the help', () => {
    const [, table = ''] =
      /## carillon\n[\s\S]*?\n\| Group \|.*\n\|---.*\n((?:\|.*\n)+)/.exec(page) ?? [];
    const names = table
      .trim()
      .split('\n')
      .map((row) => /^\| `([a-z-]+)`/.exec(row)?.[1]);
    expect(names).toEqual(GROUPS.map(({ name }) => name));
  });

  it('names every command in the row of its group', () => {
    const missing = COMMANDS.filter(([line]) => {
      const [group, ...words] = line.split(' ');
      const row = page.split('\n').find((one) => one.startsWith(`| \`${group}\` |`)) ?? '';
      return words.length > 0 && !row.includes(`\`${words.join(' ')}\``);
    });
    expect(missing.map(([line]) => line)).toEqual([]);
  });
});
