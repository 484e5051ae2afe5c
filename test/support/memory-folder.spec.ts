import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** Runs a script that keeps its temporary files below `parent`. @returns what it printed */
function run(parent: string, leastFree: number, script: string): string {
  const module = path.resolve('scripts/lib/memory-folder.ts');
  const text = `import os from 'node:os';
    const { keepTemporaryFilesInMemory } = await import(${JSON.stringify(module)});
    keepTemporaryFilesInMemory(${JSON.stringify(parent)}, ${leastFree});
    ${script}`;
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', text],
    { encoding: 'utf8' },
  );
  return stdout.trim() + stderr;
}

describe('temporary files in memory', () => {
  let parent: string;
  beforeEach(() => (parent = fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-memory-'))));
  afterEach(() => fs.rmSync(parent, { recursive: true, force: true }));

  it('are in a folder that every user can enter, until the process ends', () => {
    const printed = run(
      parent,
      0,
      `const { statSync } = await import('node:fs');
       console.log(os.tmpdir(), (statSync(os.tmpdir()).mode & 0o7777).toString(8));`,
    );
    const [folder = '', mode] = printed.split(' ');
    expect(path.dirname(folder)).toBe(parent);
    expect(mode).toBe('1777');
    expect(fs.readdirSync(parent)).toEqual([]);
  });

  it('stay where they are without enough room', () => {
    expect(run(parent, Number.MAX_SAFE_INTEGER, 'console.log(os.tmpdir())')).toBe(os.tmpdir());
  });

  it('of a run that was killed are removed, but not those of one that still runs', () => {
    const left = run(parent, 0, `process.kill(process.pid, 'SIGKILL');`);
    expect(left).toBe('');
    fs.mkdirSync(path.join(parent, `carillon-tests-${process.pid}`));
    expect(fs.readdirSync(parent)).toHaveLength(2);
    run(parent, 0, '');
    expect(fs.readdirSync(parent)).toEqual([`carillon-tests-${process.pid}`]);
  });
});
