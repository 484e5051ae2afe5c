import { cp, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { WorkThreads } from '../../../platform/threads/work-threads.ts';
import { NeuralThreads } from '../threads/neural-threads.ts';

const SOURCES = fileURLToPath(new URL('../../..', import.meta.url));
const PACKAGES = path.resolve(SOURCES, '../node_modules');
/** The source files that the worker thread loads. */
const LOADED = [
  'formats/text',
  'mail/messages/contents/kept-headers.ts',
  'platform/base/when-needed.ts',
  ...['ocr', 'text', 'threads'].map((name) => `mail/neural/${name}`),
];
/** Packages the worker thread needs besides the optional ones. */
const INSTALLED = [
  '@mixmark-io',
  'email-reply-parser',
  'html-to-text',
  'libphonenumber-js',
  'planer',
  'vader-sentiment',
];
const IMAGE = Buffer.from(`P5\n32 32\n255\n${'x'.repeat(32 * 32)}`);

describe('NeuralThreads without the optional packages', () => {
  let folder: string;
  const pool = new WorkThreads();
  let threads: NeuralThreads;

  beforeAll(async () => {
    folder = await realpath(await mkdtemp(path.join(tmpdir(), 'carillon-neural-')));
    await mkdir(path.join(folder, 'node_modules'));
    for (const name of INSTALLED)
      await symlink(path.join(PACKAGES, name), path.join(folder, 'node_modules', name));
    await writeFile(path.join(folder, 'package.json'), '{ "type": "module" }');
    for (const name of LOADED)
      await cp(path.join(SOURCES, name), path.join(folder, name), { recursive: true });
    threads = new NeuralThreads(
      pool,
      pathToFileURL(path.join(folder, 'mail/neural/threads/neural-threads.ts')).href,
    );
  });

  afterAll(async () => {
    await pool.close();
    await rm(folder, { recursive: true });
  });

  it('names the package to install when it gets an image or a PDF file', async () => {
    const read = (bytes: Buffer) => threads.ocr('account', async () => new Uint8Array(bytes), null);
    await expect(read(IMAGE)).rejects.toMatchObject({
      kind: 'not-implemented',
      message: expect.stringContaining('npm install tesseract.js'),
    });
    await expect(read(Buffer.from('%PDF-1.4'))).rejects.toMatchObject({
      kind: 'not-implemented',
      message: expect.stringContaining('npm install unpdf'),
    });
  });

  it('still analyses texts', async () => {
    const input = { texts: ['Thank you, this is great!'], messages: [] };
    expect(await threads.text('account', 'sentiment', input)).toEqual([
      expect.objectContaining({ sentiment: 'POSITIVE' }),
    ]);
  });
});
