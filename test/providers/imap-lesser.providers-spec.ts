import { WorkThreads } from '../../src/platform/threads/work-threads.ts';
import { afterAll, beforeAll } from '@jest/globals';
import { EgressPolicy } from '../../src/platform/egress/egress-policy.ts';
import type { ProviderAccount } from '../../src/providers/port/connector.ts';
import { ImapChanges } from '../../src/providers/imap/changes/imap-changes.ts';
import { ImapMailbox } from '../../src/providers/imap/messages/imap-mailbox.ts';
import { ImapSessions } from '../../src/providers/imap/sessions/imap-sessions.ts';
import { ImapMail } from '../../src/providers/imap/imap.mail.ts';
import { SmtpSender } from '../../src/providers/smtp/smtp-sender.ts';
import { ImapProxy } from '../support/imap-proxy.ts';
import { describeMail } from '../support/mail-contract.ts';
import { describeMailbox } from '../support/mailbox-contract.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { MailServers } from '../support/mail-servers/mail-servers.ts';

/** Extensions that old servers do not have. */
const HIDDEN = ['CONDSTORE', 'QRESYNC', 'ENABLE', 'ESEARCH', 'LIST-STATUS', 'MOVE', 'UIDPLUS'];

describeWith(['dovecot', 'exim4'], 'an account at a server without extensions', () => {
  const policy = new EgressPolicy(['127.0.0.0/8']);
  const sessions = new ImapSessions(policy);
  const smtp = new SmtpSender(policy);
  const threads = new WorkThreads();
  let servers: MailServers;
  let proxy: ImapProxy;
  beforeAll(async () => {
    servers = await MailServers.start();
    proxy = await ImapProxy.start(servers.dovecot.ports.imap, { hidden: HIDDEN });
  });
  afterAll(async () => {
    await sessions.close();
    await smtp.close();
    await threads.close();
    await proxy.stop();
    await servers.stop();
  });

  // Users are added one after the other, because the servers keep their lists of users in files.
  let last: Promise<unknown> = Promise.resolve();
  const account = (): Promise<ProviderAccount> => {
    const next = last.then(addAccount);
    last = next;
    return next;
  };
  const addAccount = async (): Promise<ProviderAccount> => {
    const user = await servers.addUser();
    return {
      accountId: user.email,
      applicationId: 'application',
      email: user.email,
      name: '',
      organizationUnit: 'folder',
      settings: { ...servers.settingsOf(user, { imap_port: proxy.port }) },
    };
  };
  const mail = new ImapMail(sessions, smtp, new ImapChanges(sessions, threads));

  describeMail(async () => ({ mail, account }));
  describeMailbox(async () => ({ mail, mailbox: new ImapMailbox(sessions), account }));
});
