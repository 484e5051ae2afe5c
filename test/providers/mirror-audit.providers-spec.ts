import { afterAll, afterEach, beforeAll, expect, it, jest } from '@jest/globals';
import { scheduleSync } from '../../src/accounts/sync-schedule/schedule-sync.ts';
import { GrantsService } from '../../src/accounts/grants/grants.service.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { Signals } from '../../src/platform/work/signals.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import type { Connector, MailPort } from '../../src/providers/port/connector.ts';
import { ImapAudit } from '../../src/providers/imap/changes/imap-audit.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { type Correspondent, ImapFixture } from '../support/imap-fixture.ts';
import { truthOf } from '../support/imap-replica.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { mimeOf } from '../support/mail-servers/mail-servers.ts';
import { PassingClock } from '../support/passing-clock.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const PATIENCE_MS = 60_000;
const AN_HOUR_MS = 3_601_000;

interface Audited {
  messages_checked: number;
  differences_found: number;
  repaired: number;
}

/** Damages the mirror by hand. The server is real, and the audit must make both equal again. */
describeWith(['dovecot', 'exim4'], 'the audit of a mailbox on a real server', () => {
  jest.setTimeout(2 * PATIENCE_MS);
  const clock = new PassingClock();
  let fixture: ImapFixture;
  let server: TestApp;
  let database: Database;
  let application: TestApplication;
  const connected: TestAccount[] = [];

  beforeAll(async () => {
    fixture = await ImapFixture.start();
    server = await startTestApp({}, { clock });
    database = server.app.get(Database);
    application = await createApplication(server.app);
  });
  afterEach(async () => {
    const grants = server.app.get(GrantsService, { strict: false });
    for (const { id } of connected.splice(0)) await grants.remove(application.id, id);
    await fixture.closeAll();
  });
  afterAll(async () => {
    await server.close();
    await fixture.stop();
  });

  const rows = <T extends object>(text: string, { id }: TestAccount) =>
    database.query<T>(text, [id]);

  async function connect(one: Correspondent): Promise<TestAccount> {
    const { changes } = one;
    const audit = new ImapAudit(one.sessions);
    const mail: Partial<MailPort> = {
      listChanges: (...asked) => changes.listChanges(...asked),
      fetchRaw: (...asked) => changes.fetchRaw(...asked),
      listFolders: (...asked) => audit.listFolders(...asked),
      listIds: (...asked) => audit.listIds(...asked),
      countMessages: (...asked) => audit.countMessages(...asked),
      readMessages: (...asked) => audit.readMessages(...asked),
    };
    server.app.get(ConnectorRegistry).replace({ name: 'imap', mail } as unknown as Connector);
    const { email, settings } = one.account;
    const account = await createAccount(server.app, application, {
      provider: 'imap',
      email,
      settings: { ...settings },
    });
    connected.push(account);
    await scheduleSync(database, account.id);
    server.app.get(Signals).wake('sync');
    await audited(account);
    return account;
  }
  /** Waits until the audit of the whole mailbox is complete. */
  const audited = (account: TestAccount): Promise<Audited> =>
    until(
      'the audit',
      async () => {
        const [row] = await rows<Audited>(
          `select messages_checked, differences_found, repaired from mirror_audit
           where account_id = $1 and round is null and full_at > now() and checked_at is not null`,
          account,
        );
        return row ?? false;
      },
      PATIENCE_MS,
    );
  async function auditNow(account: TestAccount): Promise<Audited> {
    await rows(
      `update mirror_audit set full_at = now(), not_before = null where account_id = $1`,
      account,
    );
    await rows(`update sync_job set run_at = now(), again = true where account_id = $1`, account);
    server.app.get(Signals).wake('sync');
    return audited(account);
  }
  /** The same, and what seems to be gone is looked for again an hour later. */
  async function auditWithSecondProof(account: TestAccount): Promise<Audited> {
    const done = auditNow(account);
    const doubts = 'select from candidate_message where account_id = $1 and gone_since is not null';
    await until('the first proof', async () => (await rows(doubts, account)).length > 0);
    await clock.pass(AN_HOUR_MS);
    return done;
  }
  const mirror = async (account: TestAccount) => {
    const found = await rows<{ id: string; folders: string[] }>(
      `select m.provider_id as id, array(select f.provider_id from message_folder mf join folder f on f.id = mf.folder_id
                                         where mf.message_id = m.id order by 1) as folders
       from message m where m.account_id = $1`,
      account,
    );
    return Object.fromEntries(found.map(({ id, folders }) => [id, folders]));
  };
  const truth = async (one: Correspondent) =>
    Object.fromEntries(
      [...(await truthOf(one.other))].map(([id, { folderIds }]) => [id, [...folderIds]]),
    );
  const fill = (one: Correspondent, folder: string, count: number) =>
    Promise.all(
      Array.from({ length: count }, (_, n) =>
        one.other.append(folder, mimeOf({ Subject: `message ${n} of ${folder}` })),
      ),
    );

  it('repairs a mirror that lacks 40 percent of a folder', async () => {
    const one = await fixture.correspondent();
    await fill(one, 'INBOX', 50);
    const account = await connect(one);
    await rows(
      `delete from message where id in (select id from message where account_id = $1 order by id limit 20)`,
      account,
    );
    expect(await auditNow(account)).toEqual({
      messages_checked: 50,
      differences_found: 20,
      repaired: 20,
    });
    expect(await mirror(account)).toEqual(await truth(one));
  });

  it('removes messages that no longer exist, and puts misplaced ones into their folder', async () => {
    const one = await fixture.correspondent();
    await fill(one, 'INBOX', 10);
    const account = await connect(one);
    await rows(
      `update message set provider_id = provider_id || '99999'
       where id in (select id from message where account_id = $1 order by id limit 2)`,
      account,
    );
    await rows(
      `update message_folder set folder_id = (select id from folder where account_id = $1 and name is distinct from 'inbox' limit 1)
       where message_id in (select id from message where account_id = $1 and provider_id not like '%99999' order by id limit 3)`,
      account,
    );
    // Two messages are missing, two are surplus, three are in another folder.
    expect(await auditWithSecondProof(account)).toMatchObject({
      differences_found: 7,
      repaired: 7,
    });
    expect(await mirror(account)).toEqual(await truth(one));
  });

  it('finds a folder that the mirror lacks altogether', async () => {
    const one = await fixture.correspondent();
    await one.other.mailboxCreate('Lost');
    await fill(one, 'Lost', 4);
    await fill(one, 'INBOX', 2);
    const account = await connect(one);
    await rows(
      `delete from message m where account_id = $1 and exists (
         select 1 from message_folder mf join folder f on f.id = mf.folder_id
         where mf.message_id = m.id and f.provider_id = 'Lost')`,
      account,
    );
    await rows(`delete from folder where account_id = $1 and provider_id = 'Lost'`, account);
    expect(await auditNow(account)).toEqual({
      messages_checked: 6,
      differences_found: 4,
      repaired: 4,
    });
    expect(await mirror(account)).toEqual(await truth(one));
  });
});
