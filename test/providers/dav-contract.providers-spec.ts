import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { EgressClient } from '../../src/platform/egress/egress-client.ts';
import { EgressPolicy } from '../../src/platform/egress/egress-policy.ts';
import { WorkThreads } from '../../src/platform/threads/work-threads.ts';
import { SystemClock } from '../../src/platform/base/time/clock.ts';
import type { ProviderAccount } from '../../src/providers/port/connector.ts';
import { DavCalendars } from '../../src/providers/imap/dav/calendars/dav.calendars.ts';
import { DavContacts } from '../../src/providers/imap/dav/contacts/dav.contacts.ts';
import { describeCalendars, describeEventChanges } from '../support/calendar-contract.ts';
import { describeContacts } from '../support/contacts-contract.ts';
import { codeOf } from '../support/contract-tools.ts';
import { davAccount, makeCalendar } from '../support/dav-account.ts';
import { type DavServer, startRadicale, startXandikos } from '../support/mail-servers/dav.ts';
import { startRadicaleWithoutSync } from '../support/mail-servers/dav-without-sync.ts';
import { describeWith } from '../support/mail-servers/installed.ts';

const SERVERS = [
  { program: 'radicale', name: 'Radicale', start: startRadicale, traits: {} },
  {
    program: 'radicale',
    name: 'a server that does not report changes',
    start: startRadicaleWithoutSync,
    traits: {},
  },
  {
    program: 'xandikos',
    name: 'Xandikos',
    start: startXandikos,
    traits: { keepsNamesOnly: true, oneUser: true },
  },
] as const;

for (const { program, name, start, traits } of SERVERS) {
  describeWith([program], `calendars and contacts of ${name}`, () => {
    const egress = new EgressClient(new EgressPolicy(['127.0.0.0/8']));
    const clock = new SystemClock();
    const threads = new WorkThreads();
    const servers: DavServer[] = [];
    /** A new server for each test if the server has only one user. */
    const server = async (): Promise<DavServer> => {
      const kept = servers[0];
      if (kept && !('oneUser' in traits)) return kept;
      const started = await start();
      servers.push(started);
      return started;
    };
    const account = async (): Promise<ProviderAccount> => {
      const { url, addUser } = await server();
      const user = 'oneUser' in traits ? 'alice' : `user-${randomUUID()}`;
      await addUser(user, 'secret');
      const one = davAccount(url, user, 'secret');
      await makeCalendar(one);
      return one;
    };
    const calendars = async () => ({ calendar: new DavCalendars(egress, clock, threads), account });

    beforeAll(async () => {
      await server();
    });
    afterAll(async () => {
      await egress.onApplicationShutdown();
      await threads.close();
      for (const one of servers) await one.stop();
    });

    describeCalendars(calendars, traits);
    describeEventChanges(calendars, true);
    describeContacts(
      async () => ({ contacts: new DavContacts(egress, clock, threads), account }),
      true,
    );

    it('list nothing for an account without a CalDAV address, and name the missing setting when a write is requested', async () => {
      const { calendar } = await calendars();
      const one = { ...(await account()) };
      const { caldav_url: _, ...settings } = one.settings;
      const bare = { ...one, settings };
      expect(await calendar.listCalendars(bare)).toEqual([]);
      const write = calendar.createCalendar(bare, randomUUID(), {
        name: 'x',
        description: null,
        location: null,
        timezone: null,
      });
      expect(await codeOf(write)).toBe('unsupported');
      await expect(write).rejects.toThrow('caldav_url is not set');
    });
  });
}
