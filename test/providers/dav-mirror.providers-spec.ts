import { randomUUID } from 'node:crypto';
import { Clock } from '../../src/platform/base/time/clock.ts';
import { EgressClient } from '../../src/platform/egress/egress-client.ts';
import { WorkThreads } from '../../src/platform/threads/work-threads.ts';
import type { Connector } from '../../src/providers/port/connector.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import { DavCalendars } from '../../src/providers/imap/dav/calendars/dav.calendars.ts';
import { DavContacts } from '../../src/providers/imap/dav/contacts/dav.contacts.ts';
import { davAccount, makeAddressBook, makeCalendar } from '../support/dav-account.ts';
import { startRadicale } from '../support/mail-servers/dav.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { describeCollections } from '../support/mirror/collection-suite.ts';

describeWith(['radicale'], 'on a real server', () => {
  describeCollections('CalDAV and CardDAV', async ({ app }) => {
    const radicale = await startRadicale();
    const parts = [app.get(EgressClient), app.get(Clock), app.get(WorkThreads)] as const;
    const ports = { calendar: new DavCalendars(...parts), contacts: new DavContacts(...parts) };
    // A connector without mail, because these accounts have no mail server.
    const connector = { name: 'imap', ...ports };
    app.get(ConnectorRegistry).replace(connector as unknown as Connector);
    return {
      ...connector,
      addPerson: async () => {
        const user = `user-${randomUUID()}`;
        await radicale.addUser(user, 'secret');
        const account = davAccount(radicale.url, user, 'secret');
        await makeCalendar(account);
        await makeAddressBook(account);
        return account;
      },
      // Radicale knows its changes for a month.
      forgetChanges: () => undefined,
      stop: () => radicale.stop(),
    };
  });
});
