import { EVERY_DAY, UNPLEASANT_AT_ONCE } from '../support/microsoft/settings.ts';
import { MicrosoftDriver } from '../support/mirror/microsoft-driver.ts';
import { describeMirror } from '../support/mirror/mirror-suite.ts';

/** Requests of the mailbox in ten minutes. */
const REQUESTS = 800;

for (const [name, manner] of [
  ['Microsoft', EVERY_DAY],
  ['Microsoft at its worst', UNPLEASANT_AT_ONCE],
] as const)
  describeMirror(
    name,
    async (clock) => {
      const driver = await MicrosoftDriver.start([], manner);
      driver.stub.now = () => clock.now().getTime();
      // Less than the 10,000 of Microsoft, because the mailbox is small.
      driver.stub.settings.requestsPerWindow = REQUESTS;
      const { origin } = driver.stub;
      const environment = {
        MICROSOFT_LOGIN_URL: origin,
        MICROSOFT_GRAPH_URL: origin,
        GRAPH_REQUESTS_PER_ACCOUNT: String(REQUESTS),
      };
      return { driver, environment };
    },
    // One look-up of each message of the large folder would use up the requests.
    { large: 170 },
  );
