import { useClientWorld } from './support/client-world.ts';
import { JAVA_MODELS } from './support/java-models.ts';
import { describeRecordedClient, jsonOrText } from './support/recorded-client.ts';

// Integrations, grants and hosted sign-in: the client has a fixed address for them, so its users
// need an interceptor that sends these requests to their own server. Schedulers and the webhook
// tunnel are services of their own at fixed addresses, and are not recorded.
describeRecordedClient('java', {
  // The client parses with Moshi (JsonHelper.java), which ignores the content type.
  // Only downloads and raw messages are read without parsing.
  parse: jsonOrText,
  models: JAVA_MODELS,
  environment: { NEURAL: 'true', STRICT_REQUESTS: 'true' },
  prepare: useClientWorld(),
});
