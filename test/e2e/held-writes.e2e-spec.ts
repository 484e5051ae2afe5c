import { describeChains } from '../support/held-writes/chains.ts';
import { SandboxSide } from '../support/held-writes/sandbox-side.ts';
import { microsoftSide } from '../support/held-writes/write-side.ts';

/** `held-writes-google` has the same chains at Google, where most steps wait. */
describe('a chain of writes to one object', () => {
  describe('in the sandbox', () => describeChains(async () => new SandboxSide()));
  describe('at Microsoft', () => describeChains(microsoftSide));
});
