import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { type Stage, settingsOf, wordsOf } from './dockerfile.ts';
import { ROOT } from './project.ts';

/** Runs a program and fails with its output if it fails. */
function run(program: string, words: readonly string[], env = process.env): void {
  const { status, stdout, stderr, error } = spawnSync(program, words, { env, encoding: 'utf8' });
  if (status === 0) return;
  throw new Error(`${program} ${words.join(' ')} failed: ${error ?? `${stdout}\n${stderr}`}`);
}

/** Copies a file or folder as `cp -a` does. */
function copy(from: string, to: string): void {
  fs.mkdirSync(path.dirname(to), { recursive: true });
  run('cp', ['-a', from, to]);
}

/** The user "node" of Node's own images. */
const USER = 1000;

/**
 * Makes a tree like the image `node:24-slim`: a minimal Debian, this process's Node, npm, and a
 * user "node". Takes a minute or two the first time. An existing tree is used again.
 * @throws if `debootstrap` is missing, or if the caller is not root
 */
export function makeBase(tree: string): void {
  if (!fs.existsSync(path.join(tree, 'etc/debian_version')))
    run('debootstrap', ['--variant=minbase', 'bookworm', tree]);
  copy(process.execPath, path.join(tree, 'usr/local/bin/node'));
  const { stdout } = spawnSync('npm', ['root', '--global'], { encoding: 'utf8' });
  const npm = path.join(tree, 'usr/local/lib/node_modules/npm');
  fs.rmSync(npm, { recursive: true, force: true });
  copy(fs.realpathSync(path.join(stdout.trim(), 'npm')), npm);
  const link = path.join(tree, 'usr/local/bin/npm');
  fs.rmSync(link, { force: true });
  fs.symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', link);
  const users = path.join(tree, 'etc/passwd');
  if (!fs.readFileSync(users, 'utf8').includes('\nnode:'))
    fs.appendFileSync(users, `node:x:${USER}:${USER}::/home/node:/bin/sh\n`);
  for (const name of ['resolv.conf', 'hosts']) copy(`/etc/${name}`, path.join(tree, 'etc', name));
}

/** npm's registry and certificates of this machine, for commands inside a tree. */
function networkOf(tree: string): Record<string, string> {
  const asked = spawnSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' });
  const network: Record<string, string> = { npm_config_registry: asked.stdout.trim() };
  const certificates = process.env['NODE_EXTRA_CA_CERTS'];
  if (certificates) {
    copy(fs.realpathSync(certificates), path.join(tree, 'tmp/certificates.pem'));
    network['NODE_EXTRA_CA_CERTS'] = '/tmp/certificates.pem';
  }
  return network;
}

/** What a finished image starts with. */
export interface Image {
  tree: string;
  environment: Record<string, string>;
  folder: string;
  user: string;
  entrypoint: string[];
  command: string[];
}

/**
 * Does what the instructions of one stage say in a copy of `base`.
 * @param trees finished stages by name, for `COPY --from`
 */
export function buildStage(
  stage: Stage,
  base: string,
  tree: string,
  trees: ReadonlyMap<string, string>,
): Image {
  fs.rmSync(tree, { recursive: true, force: true });
  copy(base, tree);
  const image: Image = {
    tree,
    environment: {},
    folder: '/',
    user: 'root',
    entrypoint: [],
    command: [],
  };
  const settings: Record<string, string> = {};
  for (const { name, rest } of stage.instructions) {
    process.stdout.write(`  ${name} ${rest.slice(0, 90)}\n`);
    if (name === 'WORKDIR')
      fs.mkdirSync(path.join(tree, (image.folder = rest)), { recursive: true });
    else if (name === 'ENV') Object.assign(image.environment, settingsOf(rest));
    else if (name === 'ARG') Object.assign(settings, settingsOf(rest));
    else if (name === 'USER') image.user = rest;
    else if (name === 'ENTRYPOINT') image.entrypoint = wordsOf(rest);
    else if (name === 'CMD') image.command = wordsOf(rest);
    else if (name === 'COPY') copyInto(image, rest, trees);
    else if (name === 'RUN') runIn(image, rest, { ...settings, ...networkOf(tree) });
    else if (name !== 'EXPOSE' && name !== 'HEALTHCHECK')
      throw new Error(`The instruction ${name} is not known here`);
  }
  return image;
}

function copyInto({ tree, folder }: Image, rest: string, trees: ReadonlyMap<string, string>): void {
  const words = rest.split(' ');
  const from = /^--from=(.+)$/.exec(words[0] ?? '')?.[1];
  const sources = words.slice(from ? 1 : 0, -1);
  const target = path.join(tree, folder, words.at(-1) ?? '');
  for (const source of sources) {
    const place = from ? path.join(trees.get(from) ?? '', source) : path.join(ROOT, source);
    const isFolder = fs.statSync(place).isDirectory();
    const to =
      words.at(-1)?.endsWith('/') && !isFolder ? path.join(target, path.basename(source)) : target;
    if (!from) requireInContext(source);
    // With a dot behind it, a folder's content is copied, as COPY does.
    if (isFolder) fs.mkdirSync(to, { recursive: true });
    run('cp', ['-a', isFolder ? `${place}/.` : place, to]);
    if (!from) run('chown', ['--recursive', 'root:root', to]);
  }
  // `**/*.spec.ts` in .dockerignore.
  if (!from) run('find', [target, '-name', '*.spec.ts', '-delete']);
}

/** @throws if `.dockerignore` does not let a file into the build */
function requireInContext(source: string): void {
  const allowed = fs.readFileSync(path.join(ROOT, '.dockerignore'), 'utf8').split('\n');
  const first = path.normalize(source).split('/')[0];
  if (!allowed.includes(`!${first}`)) throw new Error(`.dockerignore leaves out ${source}`);
}

function runIn({ tree, folder, environment }: Image, command: string, more: object): void {
  const words = [tree, '/bin/sh', '-c', `cd ${folder} && ${command}`];
  run('chroot', words, { PATH, HOME: '/root', ...environment, ...more });
}

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * Starts a process of the image as docker-compose.yml does: as its user, without capabilities, on a
 * read-only file system with an empty /tmp. It shares the machine's network.
 */
export function start(image: Image, words: readonly string[], environment: Record<string, string>) {
  const inside = [
    `mount --bind ${image.tree} ${image.tree}`,
    `mount -o remount,bind,ro ${image.tree}`,
    `mount -t tmpfs tmpfs ${image.tree}/tmp`,
    // Node reads /proc for the memory that it uses.
    `mount -t proc proc ${image.tree}/proc`,
    `cd ${image.tree}`,
    `exec chroot . setpriv --reuid=${USER} --regid=${USER} --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all sh -c 'cd ${image.folder} && exec "$@"' sh "$@"`,
  ].join(' && ');
  return spawn('unshare', ['--mount', 'sh', '-c', inside, 'sh', ...image.entrypoint, ...words], {
    env: { PATH, ...image.environment, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}
