import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ROOT } from '../../scripts/lib/project.ts';
import { pagePaths, shellBlocks } from '../support/docs/pages.ts';
import { freePorts } from '../support/mail-servers/processes.ts';
import { type RunningScript, startProgram } from '../support/npm-script.ts';

/** Enough for a build and for the first start of the embedded database. */
const PATIENCE_MS = 300_000;

/** Copies the files of this tree that belong to the repository, and links its packages. */
function copyTree(folder: string): void {
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const files = execFileSync('git', list, { cwd: ROOT, encoding: 'utf8' }).split('\0');
  for (const file of files.filter((each) => each !== '' && fs.existsSync(path.join(ROOT, each))))
    fs.cpSync(path.join(ROOT, file), path.join(folder, file));
  fs.symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'));
}

/**
 * Follows the pages as a newcomer does: in a clone of its own, with `npm start` in one terminal and
 * the blocks of a page, one after the other, in another.
 */
describe('the shell lines of the pages', () => {
  let folder: string;
  let tree: string;
  let port: number;
  let running: RunningScript;
  /** The lines that the first start prints for the demo application. */
  let demo: string;

  beforeAll(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-pages-'));
    tree = path.join(folder, 'carillon');
    copyTree(tree);
    // By itself, curl counts an error of the server as a success.
    fs.writeFileSync(path.join(folder, '.curlrc'), 'silent\nfail-with-body\n');
    [port = 0] = await freePorts(1);
    const environment = { HOME: folder, PORT: String(port) };
    running = startProgram('npm', ['start'], environment, tree);
    const welcome = await running.printed('carillon-api integrations get');
    const exported = welcome.split('\n').filter((line) => line.startsWith('export '));
    demo = ['export PATH="$PWD/bin:$PATH"', ...exported].join('\n');
  }, PATIENCE_MS);
  afterAll(async () => {
    running.child.kill('SIGINT');
    await running.ended;
    fs.rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }, PATIENCE_MS);

  const PAGES = pagePaths().filter((page) => shellBlocks(page).some(({ runs }) => runs));

  it('are run from many pages', () => {
    expect(PAGES.length).toBeGreaterThan(10);
    expect(PAGES).toContain('docs/quickstart.md');
  });

  it.each(PAGES)(
    'of %s do what a reader expects: none fails',
    async (page) => {
      const blocks = shellBlocks(page).filter(({ runs }) => runs);
      // What a page leaves to its reader is in the environment already.
      const lines = blocks.map(({ text }) => text.replaceAll(/^export .*….*$/gm, '')).join('\n');
      const script = `${demo}\n${lines}`.replaceAll('localhost:3000', `localhost:${port}`);
      const shell = startProgram('bash', ['-eo', 'pipefail', '-c', script], { HOME: folder }, tree);
      const { code, output } = await shell.ended;
      expect({ code, output: code === 0 ? '' : output }).toEqual({ code: 0, output: '' });
    },
    PATIENCE_MS,
  );
});
