// Runs scripts/<name>.ts on the Node that Carillon needs (`engines` in package.json): on this Node if
// it is new enough, otherwise on the Node that `npm ci` installed. This file runs with Node 20 or
// later.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const LEAST = [24, 2];
const root = path.resolve(fileURLToPath(import.meta.url), '../..');
const [, self, name, ...rest] = process.argv;
const ownNode = path.join(root, 'node_modules/.bin/node');

function refuse(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

if (!existsSync(path.join(root, 'node_modules')))
  refuse('The dependencies are missing. Run: npm ci');
const script = path.join(root, 'scripts', `${name}.ts`);
if (!name || !existsSync(script)) refuse(`There is no script ${name}`);

const [major, minor] = process.versions.node.split('.').map(Number);
if (major > LEAST[0] || (major === LEAST[0] && minor >= LEAST[1])) {
  process.argv.splice(1, 2, script);
  await import(pathToFileURL(script).href);
} else if (existsSync(ownNode)) {
  const child = spawn(ownNode, [self, name, ...rest], { stdio: 'inherit' });
  // Waits until the child has stopped in order, so that nothing is left behind.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
} else {
  refuse(
    `Carillon needs Node ${LEAST.join('.')} or later and this is ${process.version}. ` +
      `On Linux "npm ci" installs it; elsewhere install Node ${LEAST[0]} (https://nodejs.org) and try again.`,
  );
}
