import { useClientWorld } from './support/client-world.ts';
import { hostedCodes } from './support/hosted-code.ts';
import { parseAsPython, PYTHON_MODELS } from './support/python-models.ts';
import { describeRecordedClient } from './support/recorded-client.ts';

const prepare = useClientWorld();

describeRecordedClient('python', {
  parse: parseAsPython,
  models: PYTHON_MODELS,
  environment: { NEURAL: 'true', STRICT_REQUESTS: 'true' },
  async prepare(server, values) {
    return {
      ...(await prepare(server, values)),
      ...(await hostedCodes(server, values, 3)),
      // The password of Basic in `revoke_token` is None, which requests writes as text.
      textNone: 'None',
    };
  },
});
