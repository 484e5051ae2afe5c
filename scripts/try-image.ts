import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { buildStage, type Image, makeBase, start } from './lib/debian-tree.ts';
import { stagesOf } from './lib/dockerfile.ts';
import { ROOT } from './lib/project.ts';

/*
 * `DATABASE_URL=… npm run try-image` does what Dockerfile and docker-compose.yml say, for machines
 * without a container engine. It builds the image in a minimal Debian tree and runs the migrations.
 * Then it starts an API process and a worker, without rights and on a read-only file system, runs
 * `carillon` beside them, and stops them. Needs root, Linux, debootstrap, and an empty PostgreSQL
 * database that every user of the machine reaches over TCP. docs/releasing.md says what it leaves
 * out.
 */
const folder = path.resolve(process.argv[2] ?? path.join(os.tmpdir(), 'carillon-image'));
const say = (text: string): void => void process.stdout.write(`${text}\n`);

function build(): Image {
  const base = path.join(folder, 'base');
  say('Debian with Node and npm');
  makeBase(base);
  const trees = new Map<string, string>();
  let image: Image | undefined;
  for (const stage of stagesOf(fs.readFileSync(path.join(ROOT, 'Dockerfile'), 'utf8'))) {
    const name = stage.name ?? 'image';
    say(`Stage ${name}`);
    image = buildStage(stage, base, path.join(folder, name), trees);
    trees.set(name, image.tree);
  }
  if (!image) throw new Error('The Dockerfile has no stage');
  return image;
}

/** Runs one command of the image to its end, and returns what it printed. */
async function runOnce(
  image: Image,
  words: string[],
  env: Record<string, string>,
): Promise<string> {
  const child = start(image, words, env);
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number];
  if (code !== 0) throw new Error(`${words.join(' ')} exited with ${code}: ${output}`);
  return output;
}

async function untilReady(port: number): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    const response = await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => null);
    if (response?.status === 200) return;
    if (tries > 120) throw new Error(`Port ${port} is not ready: ${await response?.text()}`);
    await delay(500);
  }
}

async function tryOut(image: Image, databaseUrl: string): Promise<void> {
  const [api, worker] = [3911, 3912];
  const common = {
    DATABASE_URL: databaseUrl,
    ENCRYPTION_KEYS: `main:${randomBytes(32).toString('base64')}`,
    BASE_URL: `http://localhost:${api}`,
    MAIL_DOMAIN: 'carillon.invalid',
    SANDBOX: 'true',
    HOST: '127.0.0.1',
  };
  say(await runOnce(image, ['dist/src/cli/migrate.js'], common));
  const processes = [
    start(image, image.command, { ...common, ROLES: 'api', PORT: `${api}` }),
    start(image, image.command, { ...common, ROLES: 'worker', PORT: `${worker}` }),
  ];
  for (const { stdout, stderr } of processes)
    for (const stream of [stdout, stderr]) stream.pipe(process.stdout, { end: false });
  await Promise.all([untilReady(api), untilReady(worker)]);
  say('Both are ready. carillon inside the image:');
  const carillon = ['dist/src/cli/carillon.js', 'application', 'create', '--name=Image', '--json'];
  say(await runOnce(image, carillon, common));
  const help = await runOnce(
    { ...image, entrypoint: [] },
    ['api', 'events', 'get', '--help'],
    common,
  );
  if (!help.includes('--limit')) throw new Error(`api events get --help printed: ${help}`);
  const ends = processes.map((each) => once(each, 'exit'));
  for (const each of processes) each.kill('SIGTERM');
  for (const [code, signal] of (await Promise.all(ends)) as [number | null, string | null][])
    if (code !== 0) throw new Error(`A process ended with ${code ?? signal}, not with 0`);
  say('Both have stopped in order.');
}

const databaseUrl = process.env['DATABASE_URL'];
if (databaseUrl) await tryOut(build(), databaseUrl);
else {
  process.stderr.write('Set DATABASE_URL to an empty PostgreSQL database.\n');
  process.exitCode = 1;
}
