import { afterAll, beforeAll, describe } from '@jest/globals';
import { describeCalendars, describeEventChanges } from '../support/calendar-contract.ts';
import { MicrosoftCalendarFixture } from '../support/microsoft-calendars.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';

describe('calendars at the stub of Microsoft', () => {
  let fixture: MicrosoftCalendarFixture;
  beforeAll(async () => {
    fixture = await MicrosoftCalendarFixture.start();
  });
  afterAll(async () => {
    await fixture.stop();
    expectDocumented(fixture.stub);
  });

  const make = () =>
    Promise.resolve({
      calendar: fixture.calendar,
      account: () => Promise.resolve(fixture.account()),
    });
  describeCalendars(make);
  describeEventChanges(make, true);
});
