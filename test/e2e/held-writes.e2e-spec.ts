import { describeChains } from '../support/held-writes/chains.ts';
import { SandboxSide } from '../support/held-writes/sandbox-side.ts';
import { googleSide, microsoftSide } from '../support/held-writes/write-side.ts';

describe('a chain of writes to one object', () => {
  describe('in the sandbox', () => describeChains(async () => new SandboxSide()));
  describe('at Google', () => describeChains(googleSide));
  describe('at Microsoft', () => describeChains(microsoftSide));
});
