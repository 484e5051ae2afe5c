/**
 * Who may import whom (CONTRIBUTING.md has the same as a table). Arrows point one way: controllers → services →
 * repositories and ports → database.
 */
const FOUNDATION = ['common', 'config', 'database', 'http', 'auth', 'providers', 'scheduler', 'cli', 'local'];
const FEATURE = `^src/(?!(${FOUNDATION.join('|')})/)[^/]+/`;
const NOT_TESTS = '\\.spec\\.ts$';

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'A cycle is a design error: move the shared part down. Types may refer to each other.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'common-stands-alone',
      comment: 'common imports nothing of ours; dispatchers there describe themselves with the type Sql.',
      severity: 'error',
      from: { path: '^src/common/' },
      to: { path: '^src/', pathNot: ['^src/common/'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'common-types-of-the-database-only',
      severity: 'error',
      from: { path: '^src/common/' },
      to: { path: '^src/', pathNot: ['^src/common/', '^src/database/sql\\.ts$'] },
    },
    {
      name: 'config-uses-common-only',
      severity: 'error',
      from: { path: '^src/config/' },
      to: { path: '^src/', pathNot: '^src/(config|common)/' },
    },
    {
      name: 'database-knows-no-feature',
      comment: 'Only the list of entities does.',
      severity: 'error',
      from: { path: '^src/database/' },
      to: { path: '^src/', pathNot: '^src/((database|common|config)/|mikro-orm\\.config\\.ts$)' },
    },
    {
      name: 'entities-by-the-orm-configuration-only',
      severity: 'error',
      from: { path: '^src/mikro-orm\\.config\\.ts$' },
      to: { path: '^src/', pathNot: '\\.entity\\.ts$' },
    },
    {
      name: 'providers-know-nobody',
      comment: 'Plain values in, plain values or ProviderError out: no feature, no entity, no HTTP.',
      severity: 'error',
      from: { path: '^src/providers/', pathNot: NOT_TESTS },
      to: { path: '^src/', pathNot: '^src/(providers/|common/|database/(sql|base-columns)\\.ts$)' },
    },
    {
      name: 'a-provider-does-not-know-another',
      comment: 'What several of them speak has a folder of its own: smtp.',
      severity: 'error',
      from: { path: '^src/providers/([^/]+)/' },
      to: { path: '^src/providers/[^/]+/', pathNot: '^src/providers/($1|smtp)/' },
    },
    {
      name: 'connectors-behind-the-port',
      comment: 'Features call ConnectorRegistry; only the module that lists connectors knows them.',
      severity: 'error',
      from: { path: '^src/', pathNot: ['^src/providers/', '^src/mikro-orm\\.config\\.ts$', NOT_TESTS] },
      to: { path: '^src/providers/[^/]+/' },
    },
    {
      name: 'nobody-waits-for-the-scheduler',
      comment: 'Features wake the engine through common/wake.ts; health alone looks at it.',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: '^src/(scheduler/|health/|app\\.module\\.ts$|mikro-orm\\.config\\.ts$)',
      },
      to: { path: '^src/scheduler/' },
    },
    {
      name: 'scheduler-imports-dispatchers-only',
      comment: 'And what clears away old rows: prune-*.ts.',
      severity: 'error',
      from: { path: '^src/scheduler/', pathNot: NOT_TESTS },
      to: { path: FEATURE, pathNot: '(-dispatcher|\\.module|/prune-[a-z-]+)\\.ts$' },
    },
    {
      name: 'repositories-and-controllers-are-private',
      comment: "Another feature's table is read through that feature's service.",
      severity: 'error',
      from: { path: '^src/([^/]+)/' },
      to: { path: '^src/[^/]+/.+\\.(repository|controller)\\.ts$', pathNot: '^src/$1/' },
    },
    {
      name: 'services-know-no-wire',
      comment: 'Schemas and mappers know snake_case and Unix seconds; services and repositories do not.',
      severity: 'error',
      from: { path: '\\.(service|repository|entity)\\.ts$' },
      to: { path: '^src/.+\\.(controller|module)\\.ts$' },
    },
    {
      name: 'features-know-no-http',
      comment: 'Services throw DomainError; the HTTP filter alone turns kinds into status codes.',
      severity: 'error',
      from: {
        path: FEATURE,
        pathNot: ['\\.(controller|schema|module|spec)\\.ts$', '^src/(health|app|startup|main|local)'],
      },
      to: { path: '^src/http/' },
    },
    {
      name: 'the-client-stands-alone',
      comment: 'The api command is an HTTP client: it starts fast and could live in a package of its own.',
      severity: 'error',
      from: { path: '^src/cli/(api[^/]*|groups)\\.ts$' },
      to: { path: '^src/', pathNot: '^src/(common/|cli/(api[^/]*|groups)\\.ts$)' },
    },
    {
      name: 'entry-points-are-not-imported',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(main|local|cli/[^/]+)\\.ts$' },
      to: { path: '^src/(main|local)\\.ts$' },
    },
    {
      name: 'no-development-packages',
      comment: 'The image has production packages only. The embedded database is looked up when it starts.',
      severity: 'error',
      from: { path: '^src/', pathNot: NOT_TESTS },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'everything-resolves',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
      extensions: ['.ts', '.js', '.mjs', '.cjs', '.json'],
    },
  },
};
