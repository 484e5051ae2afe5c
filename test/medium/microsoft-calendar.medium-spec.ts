import { afterAll, beforeAll, describe } from '@jest/globals';
import { describeCalendars, describeEventChanges } from '../support/calendar-contract.ts';
import { describeHostedCalendars } from '../support/hosted-contract.ts';
import { MicrosoftFixture } from '../support/microsoft-account.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';

describe('calendars at the stub of Microsoft', () => {
  let fixture: MicrosoftFixture;
  beforeAll(async () => {
    fixture = await MicrosoftFixture.start();
  });
  afterAll(async () => {
    await fixture.stop();
    expectDocumented(fixture.stub);
  });

  const make = () =>
    Promise.resolve({
      calendar: fixture.connector.calendar,
      account: () => Promise.resolve(fixture.account()),
    });
  describeCalendars(make);
  describeEventChanges(make, true);
  describeHostedCalendars(make, { meetings: true, answers: true, freeBusy: true, rooms: true });
});
