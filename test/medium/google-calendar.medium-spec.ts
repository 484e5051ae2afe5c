import { afterAll, beforeAll, describe } from '@jest/globals';
import { describeCalendars, describeEventChanges } from '../support/calendar-contract.ts';
import { describeContacts } from '../support/contacts-contract.ts';
import { describeHostedCalendars } from '../support/hosted-contract.ts';
import { GoogleFixture } from '../support/google-account.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';

const MANNERS = ['as its manuals say', 'at its worst'];

describe.each(MANNERS)('calendars and contacts at the stub of Google, %s', (manner) => {
  let fixture: GoogleFixture;
  beforeAll(async () => {
    fixture = await GoogleFixture.start(manner === 'at its worst' ? 'worst' : 'usual');
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
  describeHostedCalendars(calendars, {
    meetings: true,
    answers: true,
    freeBusy: true,
    rooms: true,
  });
  describeContacts(
    async () => ({ contacts: fixture.connector.contacts, account: async () => fixture.account() }),
    true,
  );
});
