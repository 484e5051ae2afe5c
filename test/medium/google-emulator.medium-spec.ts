import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe } from '@jest/globals';
import type { GoogleConnector } from '../../src/providers/google/google.connector.ts';
import { allEventChanges, describeCalendars } from '../support/calendar-contract.ts';
import { describeCredentials } from '../support/connector-contract.ts';
import { expectKnownDeviations } from '../support/emulators/emulator-proxy.ts';
import { GoogleEmulator } from '../support/emulators/google-emulator.ts';
import { GOOGLE_DEVIATIONS, GOOGLE_FAILURES } from '../support/emulators/google-supplements.ts';
import { withKnownFailures } from '../support/emulators/known-failures.ts';
import { googleConnector } from '../support/google-account.ts';
import { describeMail } from '../support/mail-contract.ts';
import { describeMailbox } from '../support/mailbox-contract.ts';
import {
  accountWithToken,
  type ProviderParts,
  startProviderParts,
} from '../support/provider-parts.ts';

/** The contract of connectors, with a Google that other people wrote. */
describe('accounts at the emulator of Google', () => {
  let emulator: GoogleEmulator;
  let parts: ProviderParts;
  let connector: GoogleConnector;
  beforeAll(async () => {
    emulator = await new GoogleEmulator().listen();
    await emulator.open(200);
    parts = await startProviderParts();
    connector = googleConnector(parts, emulator.origin);
  });
  afterAll(async () => {
    await connector.close();
    await emulator.stop();
    await parts.stop();
    expectKnownDeviations(emulator, GOOGLE_DEVIATIONS);
  });
  const account = async () => {
    const { email, token } = await emulator.person();
    return accountWithToken(email, token, 'label');
  };
  const refusedAccount = async () => accountWithToken('nobody@gmail.test', 'wrong', 'label');

  withKnownFailures(GOOGLE_FAILURES, () => {
    describeCredentials(async () => ({ connector, account, refusedAccount }));
    describeMail(async () => ({ mail: connector.mail, account }));
    describeMailbox(async () => ({ mail: connector.mail, mailbox: connector.mailbox, account }));
    describeCalendars(async () => ({ calendar: connector.calendar, account }));
  });

  it('lists the events of the calendar as they are, again and again, because it has no sync tokens', async () => {
    const { calendar } = connector;
    const one = await account();
    const [primary] = await calendar.listCalendars(one);
    const calendarId = primary?.providerId ?? '';
    const when = { object: 'timespan', start_time: 1_900_000_800, end_time: 1_900_004_400 };
    const created = await calendar.createEvent(one, calendarId, randomUUID(), { title: 'A', when });
    const kept = await calendar.createEvent(one, calendarId, randomUUID(), { title: 'B', when });
    const first = await allEventChanges(calendar, one, calendarId);
    expect(first.events).toMatchObject([
      { providerId: created.providerId, content: { title: 'A', when } },
      { providerId: kept.providerId, content: { title: 'B' } },
    ]);
    await calendar.deleteEvent(one, created.providerId);
    const later = await allEventChanges(calendar, one, calendarId, first.cursor);
    expect(later.present).toEqual([kept.providerId]);
  });
});
