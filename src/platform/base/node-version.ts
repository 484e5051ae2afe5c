/*
 * Ends the process if this Node is too old. Entry points import this file first, and everything
 * else with import(): a static import of a name that an older Node lacks would fail before any line
 * runs. So this file uses nothing that an older Node lacks.
 */

/** `import.meta.main`, which entry points need, exists since Node 24.2. */
const LEAST = [24, 2] as const;

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major < LEAST[0] || (major === LEAST[0] && minor < LEAST[1])) {
  process.stderr.write(
    `Carillon needs Node ${LEAST.join('.')} or later and this is ${process.version} (${process.execPath}). ` +
      'Install Node 24 (https://nodejs.org), or start it from the clone with npm: ' +
      '"npm ci" installs Node 24 there on Linux.\n',
  );
  process.exit(1);
}

export {};
