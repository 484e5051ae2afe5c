import fs from 'node:fs';

// Native ESM: `npm run jest` sets --experimental-vm-modules.
const transform = {
  '^.+\\.ts$': [
    '@swc/jest',
    {
      jsc: {
        parser: { syntax: 'typescript', decorators: true },
        transform: { legacyDecorator: true, decoratorMetadata: true },
        target: 'es2024',
        keepClassNames: true,
      },
      module: { type: 'es6' },
      sourceMaps: 'inline',
    },
  ],
};
const base = {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform,
};
const servers = {
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
};
const GROUPS = new URL('test/.groups', import.meta.url).pathname;
/** Tiers: unit beside the code, and test/structure for what holds of all of it; medium = service + PostgreSQL; e2e = HTTP; sdk = the official client;
 * providers = real mail and calendar servers, a real browser; hostile = attacks; faults = processes that die; long = storms of the
 * last two tiers at their full size (npm run test:long). */
export default {
  // A bound against hanging, not a measure of speed; longer than `until` waits, whose words tell more.
  testTimeout: 180_000,
  testSequencer: '<rootDir>/scripts/lib/group-sequencer.js',
  projects: [
    {
      ...base,
      // Written by scripts/lib/test-groups.ts for a full run: each file imports several of those below.
      displayName: 'groups',
      roots: fs.existsSync(GROUPS) ? [GROUPS] : [],
      testMatch: ['**/*.spec.ts'],
      ...servers,
    },
    {
      ...base,
      displayName: 'unit',
      roots: ['<rootDir>/src', '<rootDir>/test/structure'],
      testMatch: ['**/*.spec.ts'],
    },
    ...['medium', 'e2e', 'sdk', 'providers', 'hostile', 'faults', 'faults/patient', 'long'].map(
      (tier) => ({
        ...base,
        displayName: tier.split('/').at(-1),
        roots: ['<rootDir>/test'],
        // Faults whose tests mostly wait are a project of their own: others run beside them.
        testMatch: [`<rootDir>/test/${tier}/${tier.startsWith('faults') ? '' : '**/'}*-spec.ts`],
        ...servers,
      }),
    ),
  ],
};
