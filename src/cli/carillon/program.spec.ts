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
});
