// Runs scripts/<name>.ts on Node 24: on this Node when it is new enough, else on the one `npm ci` brought along.
// Plain old JavaScript on purpose: any Node since 16 can read it and tell what is missing.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const WANTED = 24;
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

if (Number.parseInt(process.versions.node, 10) >= WANTED) {
  process.argv.splice(1, 2, script);
  await import(pathToFileURL(script).href);
} else if (existsSync(ownNode)) {
  const child = spawn(ownNode, [self, name, ...rest], { stdio: 'inherit' });
  // The child stops in order; this process waits for it, so that nothing is left behind.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
} else {
  refuse(
    `Carillon needs Node ${WANTED} or newer and this is ${process.version}. ` +
      `On Linux "npm ci" brings it along; elsewhere install Node ${WANTED} (https://nodejs.org) and try again.`,
  );
}
