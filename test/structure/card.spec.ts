import { existsSync, globSync, readFileSync } from 'node:fs';
import type { Type } from '@nestjs/common';
import {
  AccountGuard,
  ApplicationGuard,
  ApplicationSecretGuard,
} from '../../src/platform/auth/guards.ts';
import { OperatorGuard } from '../../src/operator/access/operator.guard.ts';
import { WorkOfWorkers } from '../../src/app/scheduler/recurring-work.ts';

/** The packages and the shape that this project is committed to (docs/architecture.md). */
const PACKAGES = [
  '@nestjs/core',
  '@nestjs/common',
  '@nestjs/platform-express',
  '@nestjs/schedule',
  '@nestjs/swagger',
  '@mikro-orm/core',
  '@mikro-orm/postgresql',
  'passport',
  'passport-http',
  'passport-http-bearer',
];
const TOP_LEVEL = [
  'package.json',
  'tsconfig.json',
  'nest-cli.json',
  'src',
  'test',
  'migrations',
  'docker-compose.yml',
  'README.md',
];
const FEATURES = {
  integrations: 'src/accounts/integrations',
  grants: 'src/accounts/grants',
  messages: 'src/mail/messages',
  outbox: 'src/mail/outbox',
  'job-statuses': 'src/job-statuses',
  calendars: 'src/calendar/calendars',
  events: 'src/calendar/events',
  notifications: 'src/calendar/notifications',
};

const sources = globSync('src/**/*.ts').filter((path) => !path.endsWith('.spec.ts'));
const read = (path: string) => readFileSync(path, 'utf8');
const manifest = JSON.parse(read('package.json')) as Record<
  'dependencies' | 'devDependencies',
  Record<string, string>
>;

/** Whether some file imports values of the package, not only types. */
const isImportedBy = (paths: readonly string[], name: string): boolean =>
  paths.some((path) =>
    new RegExp(`^(import (?!type )|\\} )[^;]*from '${name}';$`, 'm').test(read(path)),
  );

describe('the shape of the project', () => {
  it.each(PACKAGES)('%s is a dependency that the program imports', (name) => {
    expect(manifest.dependencies).toHaveProperty([name]);
    expect(isImportedBy(sources, name)).toBe(true);
  });

  it('jest runs the tests', () => {
    expect(manifest.devDependencies).toHaveProperty(['jest']);
    expect(isImportedBy(globSync('test/**/*-spec.ts'), '@jest/globals')).toBe(true);
  });

  it('every dependency is imported by the program, except those that others need beside them', () => {
    const unused = Object.keys(manifest.dependencies).filter(
      (name) => !sources.some((path) => read(path).includes(`'${name}`)),
    );
    // Needed by @mikro-orm/migrations and by the packages of NestJS.
    expect(unused).toEqual(['@mikro-orm/sql', 'rxjs']);
  });

  it.each(TOP_LEVEL)('%s is at the top level', (name) => expect(existsSync(name)).toBe(true));

  it.each(Object.entries(FEATURES))(
    'the feature module %s has a module, a controller, a service and an entity of its own',
    (_, folder) => {
      const files = globSync(`${folder}/**/*.ts`);
      const kinds = ['module', 'controller', 'service', 'entity'];
      expect(kinds.filter((kind) => !files.some((file) => file.endsWith(`.${kind}.ts`)))).toEqual(
        [],
      );
    },
  );

  it.each<[string, Type]>([
    ['accounts (Bearer, or Basic with the token as user name)', AccountGuard],
    ['applications (Basic)', ApplicationGuard],
    ['applications (Basic with the secret as user name)', ApplicationSecretGuard],
    ['operators', OperatorGuard],
  ])('the guard of %s is built on passport strategies', (_, guard) => {
    // What `AuthGuard` of @nestjs/passport adds to a class.
    expect(guard.prototype).toHaveProperty('getAuthenticateOptions');
  });

  it('only guards that read no credentials are built without a strategy', () => {
    const guards = sources.flatMap((path) =>
      [...read(path).matchAll(/class (\w+)[^{]* implements [^{]*CanActivate/g)].map(
        ([, name]) => name,
      ),
    );
    expect(guards.toSorted((a = '', b = '') => a.localeCompare(b))).toEqual([
      'PublicRouteGuard',
      'StandbyGuard',
      'UnknownNamesGuard',
    ]);
  });

  it('cron jobs advance the outbox and fire reminders', () => {
    const source = read('src/app/scheduler/recurring-work.ts');
    expect(source).toMatch(/@Cron\([^)]*'advance the outbox'[^]*?advanceOutbox\(\)/);
    expect(source).toMatch(/@Cron\([^)]*'fire reminders'[^]*?fireReminders\(\)/);
    expect(WorkOfWorkers.prototype).toHaveProperty('advanceOutbox');
  });
});
