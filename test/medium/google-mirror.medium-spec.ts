import { GoogleDriver } from '../support/mirror/google-driver.ts';
import { describeMirror } from '../support/mirror/mirror-suite.ts';

for (const manner of ['Google', 'Google at its worst'])
  describeMirror(manner, async (clock) => {
    const driver = await GoogleDriver.start();
    driver.stub.now = () => clock.now().getTime();
    if (manner !== 'Google') driver.stub.habits.worst();
    return { driver, environment: { GOOGLE_URL: driver.stub.origin } };
  });
