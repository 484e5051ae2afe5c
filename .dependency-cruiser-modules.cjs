/**
 * No two modules need each other, types included. A module is a folder `src/<group>/<module>` with all that is in it, a group
 * without folders, or `sync`, whose folders are parts of one module. Tests beside the code are left out: they may use what is above them.
 */
const { options } = require('./.dependency-cruiser.cjs');

const noCycles = (name, folder) => ({
  name,
  comment:
    'What both need moves down, or the lower one declares a port that the upper one implements.',
  severity: 'error',
  scope: 'folder',
  from: { path: folder },
  to: { circular: true, path: '^src/', pathNot: '^src/$1(/|$)' },
});

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    noCycles('no-cycles-between-modules', '^src/((?!sync/)[^/]+/[^/]+)'),
    noCycles('no-cycles-between-groups-without-modules', '^src/([^/]+)$'),
  ],
  options: { ...options, exclude: { path: ['\\.spec\\.ts$', 'node_modules'] } },
};
