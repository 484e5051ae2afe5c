import { afterAll, beforeAll, describe } from '@jest/globals';
import { describeContacts } from '../support/contacts-contract.ts';
import { MicrosoftFixture } from '../support/microsoft-account.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';

describe('contacts at the stub of Microsoft', () => {
  let fixture: MicrosoftFixture;
  beforeAll(async () => {
    fixture = await MicrosoftFixture.start();
  });
  afterAll(async () => {
    await fixture.stop();
    expectDocumented(fixture.stub);
  });

  describeContacts(
    () =>
      Promise.resolve({
        contacts: fixture.connector.contacts,
        account: () => Promise.resolve(fixture.account()),
      }),
    true,
  );
});
