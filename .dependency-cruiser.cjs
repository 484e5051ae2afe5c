/**
 * Who may import whom; docs/architecture.md draws the same. A group imports itself and the groups below it:
 * platform ← formats ← providers ← job-statuses ← accounts ← contacts, mail ← calendar ← sync, deltas ← operator ← app, cli.
 */
const GROUPS_BELOW = {
  platform: [],
  formats: ['platform'],
  providers: ['platform', 'formats'],
  'job-statuses': ['platform', 'formats', 'providers'],
  accounts: ['platform', 'formats', 'providers', 'job-statuses'],
  contacts: ['platform', 'formats', 'providers', 'job-statuses', 'accounts'],
  mail: ['platform', 'formats', 'providers', 'job-statuses', 'accounts', 'contacts'],
  calendar: ['platform', 'formats', 'providers', 'job-statuses', 'accounts', 'contacts', 'mail'],
  sync: [
    'platform',
    'formats',
    'providers',
    'job-statuses',
    'accounts',
    'contacts',
    'mail',
    'calendar',
  ],
  deltas: [
    'platform',
    'formats',
    'providers',
    'job-statuses',
    'accounts',
    'contacts',
    'mail',
    'calendar',
  ],
  operator: [
    'platform',
    'formats',
    'providers',
    'job-statuses',
    'accounts',
    'contacts',
    'mail',
    'calendar',
    'sync',
    'deltas',
  ],
};
const NOT_TESTS = '\\.spec\\.ts$';

const groupRules = Object.entries(GROUPS_BELOW).map(([group, below]) => ({
  name: `${group}-imports-what-is-below-it`,
  comment:
    'What two groups need moves down, or the lower one declares a port that the upper one implements.',
  severity: 'error',
  from: { path: `^src/${group}/`, pathNot: NOT_TESTS },
  to: { path: '^src/', pathNot: `^src/(${[group, ...below].join('|')})/` },
}));

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    ...groupRules,
    {
      name: 'no-cycles',
      comment:
        'A cycle is a design error: move the shared part down. Types may refer to each other.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'calendar-uses-little-of-mail',
      comment:
        'Of mail, the calendar uses the outbox, the composing of messages, and the port for events of messages.',
      severity: 'error',
      from: { path: '^src/calendar/', pathNot: NOT_TESTS },
      to: { path: '^src/mail/', pathNot: '^src/mail/(outbox|composing|message-events)/' },
    },
    {
      name: 'base-stands-alone',
      severity: 'error',
      from: { path: '^src/platform/base/' },
      to: { path: '^src/', pathNot: '^src/platform/base/' },
    },
    {
      name: 'entities-by-the-orm-configuration-only',
      severity: 'error',
      from: { path: '^src/app/mikro-orm\\.config\\.ts$' },
      to: {
        path: '^src/',
        pathNot: ['\\.entity\\.ts$', '^src/platform/database/(owner-keys|database-hosts)\\.ts$'],
      },
    },
    {
      name: 'a-provider-does-not-know-another',
      comment: 'What several of them speak has a folder of its own: smtp, rest.',
      severity: 'error',
      from: { path: '^src/providers/([^/]+)/' },
      to: { path: '^src/providers/[^/]+/', pathNot: '^src/providers/($1|smtp|rest|port)/' },
    },
    {
      name: 'connectors-behind-the-port',
      comment: 'Features call ConnectorRegistry; only the module that lists connectors knows them.',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: ['^src/providers/', '^src/app/mikro-orm\\.config\\.ts$', NOT_TESTS],
      },
      to: { path: '^src/providers/(?!port/)[^/]+/' },
    },
    {
      name: 'nobody-waits-for-the-engine',
      comment:
        'Features signal it through platform/work/signals.ts; only the application starts it.',
      severity: 'error',
      from: { path: '^src/(?!app/|platform/work/)', pathNot: NOT_TESTS },
      to: { path: '^src/(app/scheduler|platform/work/engine\\.ts$)' },
    },
    {
      name: 'private-files-of-a-module',
      comment:
        "Another module's tables and wire formats are reached through its services and functions.",
      severity: 'error',
      from: { path: '^src/([^/]+/[^/]+)/', pathNot: NOT_TESTS },
      to: { path: '^src/[^/]+/[^/]+/.*\\.(repository|controller)\\.ts$', pathNot: '^src/$1/' },
    },
    {
      name: 'private-files-of-a-group-without-modules',
      comment: 'The same, for groups that are one module.',
      severity: 'error',
      from: { path: '^src/([^/]+)/', pathNot: NOT_TESTS },
      to: { path: '^src/[^/]+/[^/]+\\.(repository|controller)\\.ts$', pathNot: '^src/$1/' },
    },
    {
      name: 'services-know-no-wire',
      comment:
        'Schemas and mappers know snake_case and Unix seconds; services, repositories and entities do not.',
      severity: 'error',
      from: { path: '\\.(service|repository|entity)\\.ts$' },
      to: { path: '^src/.+\\.(controller|module|schema|mapper)\\.ts$' },
    },
    {
      name: 'features-know-no-http',
      comment: 'Services throw DomainError; the HTTP filter alone turns kinds into status codes.',
      severity: 'error',
      from: {
        path: '^src/(job-statuses|accounts|contacts|mail|calendar|sync|deltas)/',
        pathNot: ['\\.(controller|schema|module|spec)\\.ts$'],
      },
      to: { path: '^src/platform/http/' },
    },
    {
      name: 'the-client-stands-alone',
      comment:
        'carillon-api is an HTTP client: it starts fast and could live in a package of its own.',
      severity: 'error',
      from: { path: '^src/cli/(client|terminal)/' },
      to: { path: '^src/', pathNot: '^src/(platform/base/|cli/(client|terminal)/)' },
    },
    {
      name: 'commands-load-services-when-they-run',
      comment:
        'Help and completion of carillon start at once: a command imports services in its action. The files below import nothing heavy.',
      severity: 'error',
      from: { path: '^src/cli/carillon/(commands/.*|arguments|cli|groups|main|program)\\.ts$' },
      to: {
        path: '^src/',
        pathNot: [
          '^src/cli/',
          '^src/platform/(base/|auth/(plan|scopes)\\.ts$|config/(regions|operator-roles)\\.ts$)',
          '^src/platform/database/page-token\\.ts$',
          '^src/accounts/applications/token-lifetime\\.ts$',
          '^src/operator/(applications/application-item|accounts/account-health|jobs/job-types)\\.ts$',
          '^src/platform/webhooks/webhook-state\\.ts$',
        ],
        dynamic: false,
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'entry-points-are-not-imported',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(main|local|cli/[^/]+)\\.ts$' },
      to: { path: '^src/(main|local)\\.ts$' },
    },
    {
      name: 'no-development-packages',
      comment:
        'The image has production packages only. The embedded database is looked up when it starts.',
      severity: 'error',
      from: { path: '^src/', pathNot: NOT_TESTS },
      to: {
        dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'],
        dependencyTypesNot: ['type-only'],
      },
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
