import { useClientWorld } from './support/client-world.ts';
import { GO_MODELS } from './support/go-models.ts';
import { describeRecordedClient, jsonOrText } from './support/recorded-client.ts';

describeRecordedClient('go', {
  // Only RawMessage and DownloadFile read an answer that is not JSON.
  parse: jsonOrText,
  models: GO_MODELS,
  environment: { NEURAL: 'true', STRICT_REQUESTS: 'true' },
  prepare: useClientWorld(),
});
