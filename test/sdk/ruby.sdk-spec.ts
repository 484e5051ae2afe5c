import { useClientWorld } from './support/client-world.ts';
import { hostedCodes } from './support/hosted-code.ts';
import { describeRecordedClient } from './support/recorded-client.ts';
import { parseAsRuby, RUBY_MODELS } from './support/ruby-models.ts';

const prepare = useClientWorld();

describeRecordedClient('ruby', {
  parse: parseAsRuby,
  models: RUBY_MODELS,
  environment: { NEURAL: 'true', STRICT_REQUESTS: 'true' },
  async prepare(server, values) {
    return {
      ...(await prepare(server, values)),
      ...(await hostedCodes(server, values, 2)),
    };
  },
});
