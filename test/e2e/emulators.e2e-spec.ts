import { expectKnownDeviations } from '../support/emulators/emulator-proxy.ts';
import { EmulatorWorld } from '../support/emulators/emulator-world.ts';
import { GoogleEmulator } from '../support/emulators/google-emulator.ts';
import { describeGoogleFaults } from '../support/emulators/google-faults.ts';
import { GOOGLE_DEVIATIONS } from '../support/emulators/google-supplements.ts';
import { until } from '../support/until.ts';

/** The whole server with companies that other people wrote, which fail at named requests. */
describe('the whole server with emulators', () => {
  const google = new GoogleEmulator();
  let world: EmulatorWorld;
  beforeAll(async () => {
    await google.listen();
    world = await EmulatorWorld.start([google], { GOOGLE_URL: google.origin }, 4);
  });
  afterAll(async () => {
    await world.stop();
    expectKnownDeviations(google, GOOGLE_DEVIATIONS);
  });

  describe('a Google account', () => {
    it('is connected over the sign-in page of Google, and its mailbox appears', async () => {
      const person = await google.person();
      const mime = `From: bo@x.test\r\nTo: ${person.email}\r\nSubject: Before\r\n\r\nHi\r\n`;
      await google.deliver(person, mime);
      const account = await world.connect(google, person);
      await world.running(account);
      expect(await world.arrived(account, 'Before')).toMatchObject({ unread: true });
      expect(await world.api(account, 'get', '/account')).toMatchObject({ provider: 'gmail' });
      await world.remove(account);
    });

    it('becomes invalid when its user withdraws the access, and works again after the next sign-in', async () => {
      const account = await world.connect(google);
      await world.running(account);
      await google.withdraw(account);
      await world.eventually(account, 'the account to be invalid', async () => {
        const { sync_state } = await world.api(account, 'get', '/account');
        return sync_state === 'invalid';
      });
      const again = await world.connect(google, account);
      expect(again.id).toBe(account.id);
      await world.running(again);
      expect(await google.isUsable(again)).toBe(true);
      await world.remove(again);
      await until('the end of the access', async () => !(await google.isUsable(again)));
    });

    describeGoogleFaults(() => ({ world, google }));
  });
});
