import { afterAll, beforeAll, describe } from '@jest/globals';
import { describeCalendars, describeEventChanges } from '../support/calendar-contract.ts';
import { describeContacts } from '../support/contacts-contract.ts';
import { GoogleFixture } from '../support/google-account.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';

describe('calendars and contacts at the stub of Google', () => {
  let fixture: GoogleFixture;
  beforeAll(async () => {
    fixture = await GoogleFixture.start();
    for (const quotas of [fixture.stub.quotas.perUser, fixture.stub.quotas.perProject])
      for (const quota of Object.values(quotas)) quota.limit.units = 1e9;
  });
  afterAll(async () => {
    await fixture.stop();
    expectDocumented(fixture.stub);
  });
  const calendars = async () => ({
    calendar: fixture.connector.calendar,
    account: async () => fixture.account(),
  });

  describeCalendars(calendars);
  describeEventChanges(calendars, true, { partial: true });
  describeContacts(
    async () => ({ contacts: fixture.connector.contacts, account: async () => fixture.account() }),
    true,
  );
});
