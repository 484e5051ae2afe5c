import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll } from '@jest/globals';
import { EgressClient } from '../../src/platform/egress/egress-client.ts';
import { EgressPolicy } from '../../src/platform/egress/egress-policy.ts';
import { WorkThreads } from '../../src/platform/threads/work-threads.ts';
import { SystemClock } from '../../src/platform/base/time/clock.ts';
import type { ProviderAccount } from '../../src/providers/port/connector.ts';
import { ImapDiscovery } from '../../src/providers/imap/discovery/imap-discovery.ts';
import { ImapConnector } from '../../src/providers/imap/imap.connector.ts';
import { SmtpSender } from '../../src/providers/smtp/smtp-sender.ts';
import {
  type ConnectorUnderTest,
  describeConnectorContract,
} from '../support/connector-contract.ts';
import { makeCalendar } from '../support/dav-account.ts';
import { describeLookUps, forgetfulWith } from '../support/look-up-contract.ts';
import { type DavServer, startRadicale } from '../support/mail-servers/dav.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { MailServers } from '../support/mail-servers/mail-servers.ts';

describeWith(['dovecot', 'exim4', 'radicale'], 'an account at real servers', () => {
  const policy = new EgressPolicy(['127.0.0.0/8']);
  const egress = new EgressClient(policy);
  const smtp = new SmtpSender(policy);
  const threads = new WorkThreads();
  const connector = new ImapConnector({
    threads,
    policy,
    egress,
    smtp,
    clock: new SystemClock(),
    discovery: new ImapDiscovery(policy, egress, { ispdbUrl: null }),
  });
  let servers: MailServers;
  let calendars: DavServer;

  beforeAll(async () => {
    [servers, calendars] = await Promise.all([MailServers.start(), startRadicale()]);
  });
  afterAll(async () => {
    await connector.close();
    await threads.close();
    await smtp.close();
    await egress.onApplicationShutdown();
    await Promise.all([servers.stop(), calendars.stop()]);
  });

  const account = async (): Promise<ProviderAccount> => {
    const user = await servers.addUser();
    await calendars.addUser(user.email, user.password);
    const settings = servers.settingsOf(user, {
      caldav_url: calendars.url,
      carddav_url: calendars.url,
    });
    const one: ProviderAccount = {
      accountId: user.email,
      applicationId: 'application',
      email: user.email,
      name: 'Somebody',
      organizationUnit: 'folder',
      settings,
    };
    await makeCalendar(one);
    return one;
  };
  const refusedAccount = async (): Promise<ProviderAccount> => {
    const one = await account();
    return {
      ...one,
      settings: { ...one.settings, imap_password: 'wrong-1', smtp_password: 'wrong-1' },
    };
  };

  const make = async (): Promise<ConnectorUnderTest> => ({ connector, account, refusedAccount });
  describeConnectorContract('imap', make, { eventChanges: true, contacts: true });

  /** A server that files what it sends, with all that it keeps. */
  const forgetful = async () => {
    const files = async () => {
      const one = await account();
      return { ...one, settings: { ...one.settings, smtp_files_sent: true } };
    };
    return forgetfulWith({ mail: connector.mail, account: files }, async (from, message, kept) => {
      const { imap_password: password } = from.settings as { imap_password: string };
      const client = await servers.client({ email: from.email, password });
      const text = message.mime.toString();
      const id = `Message-ID: <${randomUUID()}@server.test>`;
      const filed = kept === 'everything' ? text : text.replace(/^Message-ID: .*$/im, id);
      await client.append('Sent', Buffer.from(filed), ['\\Seen']);
      await client.logout();
    });
  };
  // Copies bear no mark that Carillon looks for.
  describeLookUps(forgetful, ['everything', 'nothing']);
});
