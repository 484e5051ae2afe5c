import { afterAll, beforeAll, describe } from '@jest/globals';
import { describeContacts } from '../support/contacts-contract.ts';
import { MicrosoftCalendarFixture } from '../support/microsoft-calendars.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';

describe('contacts at the stub of Microsoft', () => {
  let fixture: MicrosoftCalendarFixture;
  beforeAll(async () => {
    fixture = await MicrosoftCalendarFixture.start();
  });
  afterAll(async () => {
    await fixture.stop();
    expectDocumented(fixture.stub);
  });

  describeContacts(
    () =>
      Promise.resolve({
        contacts: fixture.contacts,
        account: () => Promise.resolve(fixture.account()),
      }),
    true,
  );
});
