import { GoogleDriver } from '../support/mirror/google-driver.ts';
import { describeMirror } from '../support/mirror/mirror-suite.ts';

describeMirror('Google', async (clock) => {
  const driver = await GoogleDriver.start();
  driver.stub.now = () => clock.now().getTime();
  return { driver, environment: { GOOGLE_URL: driver.stub.origin } };
});
