import { randomUUID } from 'node:crypto';
import type { ProviderAccount } from '../../src/providers/port/connector.ts';
import { describeCalendars, describeEventChanges } from '../support/calendar-contract.ts';
import { describeHostedCalendars } from '../support/hosted-contract.ts';
import { HostedCalendars } from '../support/hosted-calendars.ts';

describe('calendars of the test provider that reports each change on its own', () => {
  const calendar = new HostedCalendars({
    mailsParticipants: 'on-request',
    conferencing: ['Google Meet'],
  });
  const account = async (): Promise<ProviderAccount> => ({
    accountId: randomUUID(),
    applicationId: randomUUID(),
    email: `user-${randomUUID()}@hosted.test`,
    name: '',
    organizationUnit: 'label',
    settings: {},
  });
  const make = async () => ({ calendar, account });

  describeCalendars(make);
  describeEventChanges(make, true, { partial: true });
  describeHostedCalendars(make, { meetings: true, answers: true, freeBusy: true, rooms: true });
});
