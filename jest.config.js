// Native ESM: run through scripts/jest.ts, which sets --experimental-vm-modules.
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
/** Tiers: unit beside the code; medium = service + PostgreSQL; e2e = HTTP; sdk = the official client;
 * faults = processes that die. */
export default {
  // A bound against hanging, not a measure of speed: a busy machine starts an application in more than the usual five.
  testTimeout: 30_000,
  projects: [
    { ...base, displayName: 'unit', roots: ['<rootDir>/src'], testMatch: ['**/*.spec.ts'] },
    ...['medium', 'e2e', 'sdk', 'faults'].map((tier) => ({
      ...base,
      displayName: tier,
      roots: ['<rootDir>/test'],
      testMatch: [`<rootDir>/test/${tier}/**/*-spec.ts`],
      globalSetup: '<rootDir>/test/support/global-setup.ts',
      globalTeardown: '<rootDir>/test/support/global-teardown.ts',
    })),
  ],
};
