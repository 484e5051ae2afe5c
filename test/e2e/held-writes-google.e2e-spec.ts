import { describeChains } from '../support/held-writes/chains.ts';
import { googleSide } from '../support/held-writes/write-side.ts';

describe('a chain of writes to one object', () => {
  describe('at Google', () => describeChains(googleSide));
});
