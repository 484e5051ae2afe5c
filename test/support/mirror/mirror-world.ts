import request from 'supertest';
import { readBodies } from '../../../src/mail/messages/contents/read-contents.ts';
import { Database, idsOf } from '../../../src/platform/database/sql.ts';
import { createApplication, type TestApplication } from '../factories.ts';
import { PassingClock } from '../passing-clock.ts';
import { Receiver } from '../receiver.ts';
import { startTestApp, type TestApp } from '../test-app.ts';
import { AccountSteps } from './account-steps.ts';
import { type HeldFolder, type HeldMessage, type MailboxDriver, markIn } from './mailbox-driver.ts';

/** A message as the mirror has it. */
export interface MirroredMessage extends HeldMessage {
  id: string;
  listed: boolean;
}

const MESSAGES = `
  select m.id, m.provider_id as "providerId", m.unread, m.starred, m.draft, m.subject, m.listed,
    m.thread_id as thread,
    array(select f.provider_id from message_folder mf join folder f on f.id = mf.folder_id
          where mf.message_id = m.id order by 1) as folders
  from message m where m.account_id = $1 and not m.deleting`;

const AFTER_WRITE_MS = 1_100;
/** Kinds of objects in the change log. */
const LOGGED = ['message', 'draft', 'folder', 'label', 'file'];
const OBJECTS = `
  select id::text collate "C" from message where account_id = $1 and not deleting
  union all select id::text collate "C" from folder where account_id = $1
  union all select f.id::text collate "C" from file f join message m on m.id = f.message_id where m.account_id = $1
  order by 1`;

/**
 * The whole program beside the mailbox of another server. Its engine does not run: a test makes
 * each sync pass and each provider write itself, and moves the clock. So a seed decides everything.
 */
export class MirrorWorld extends AccountSteps {
  private constructor(
    server: TestApp,
    clock: PassingClock,
    readonly application: TestApplication,
    readonly driver: MailboxDriver,
  ) {
    super(server, clock);
  }

  /** @param environment where the program finds the driver's server */
  static async start(
    driver: MailboxDriver,
    clock: PassingClock,
    environment: Record<string, string>,
  ): Promise<MirrorWorld> {
    const settings = { ROLES: 'api', SYNC_AUDIT_SECONDS: '0', ...environment };
    const server = await startTestApp(settings, { clock });
    return new MirrorWorld(server, clock, await createApplication(server.app), driver);
  }

  /** Connects an account at an OAuth provider. */
  async connect(registration: object, settings: object): Promise<{ id: string; token: string }> {
    const call = (path: string, body: object) =>
      request(this.server.url).post(path).set(this.application.basic).send(body);
    const { provider } = this.driver;
    const integration = { name: provider, provider, settings: registration, redirect_uris: [] };
    await call('/connect/integrations', integration).expect(200);
    const { body } = await call('/connect/grants', { provider, settings });
    expect([body.success, body.error]).toEqual([true, undefined]);
    const { id, access_token: token } = body.data as { id: string; access_token: string };
    return { id, token };
  }

  /** Connects the driver's account and subscribes to all news of messages. */
  async open(): Promise<void> {
    this.account = await this.driver.connect(this);
    const receiver = await Receiver.start();
    const { body } = await request(this.server.url)
      .post(`/a/${this.application.clientId}/webhooks`)
      .set(this.application.secretBasic)
      .send({
        callback_url: `${receiver.origin}/hook`,
        triggers: ['message.created'],
        state: 'active',
      });
    await receiver.stop();
    expect(body).toMatchObject({ state: 'active' });
  }

  /** Makes passes, each when it is due, until all messages are there and complete. */
  async settle(most = 60): Promise<void> {
    for (let passes = 0; passes < most; passes += 1) {
      await this.write();
      const { kind } = await this.pass();
      const [row] = await this.query<{ left: number }>(
        'select count(*)::int as left from message where account_id = $1 and listed',
        this.account.id,
      );
      if (kind === 'current' && row?.left === 0 && (await this.#readAgain()) === 0) return;
      await this.wait();
      // A write that has ended within the last second makes a pass begin anew.
      if (kind === 'idle') await this.clock.pass(AFTER_WRITE_MS);
    }
    throw new Error(`the mirror is not complete after ${most} passes`);
  }

  /**
   * Messages on which the provider has failed once are requested again at once. Those on which it
   * always fails are not waited for.
   * @returns how many there are
   */
  async #readAgain(): Promise<number> {
    const failed = await this.query(
      'update sync_failure set retry_at = now() where account_id = $1 and retry_at > now() and times = 1 returning 1',
      this.account.id,
    );
    return failed.length;
  }

  /** What the mirror has, by the provider's ids. */
  async messages(): Promise<Map<string, MirroredMessage>> {
    const rows = await this.query<MirroredMessage & { providerId: string }>(
      MESSAGES,
      this.account.id,
    );
    const database = this.server.app.get(Database);
    const bodies = await readBodies(database, this.account.id, idsOf(rows));
    return new Map(
      rows.map(({ providerId, ...message }) => [
        providerId,
        { ...message, mark: markIn(bodies.get(message.id) ?? '') },
      ]),
    );
  }

  async folders(): Promise<HeldFolder[]> {
    return this.query<HeldFolder & object>(
      'select provider_id as id, display_name as "displayName" from folder where account_id = $1',
      this.account.id,
    );
  }

  /** Our id of a folder. */
  async folderId(providerId: string): Promise<string> {
    const [folder] = await this.query<{ id: string }>(
      'select id from folder where account_id = $1 and provider_id = $2',
      this.account.id,
      providerId,
    );
    if (!folder) throw new Error(`the mirror has no folder ${providerId}`);
    return folder.id;
  }

  /** Ids of the messages for which `message.created` was published, once for each publication. */
  async published(): Promise<string[]> {
    const rows = await this.query<{ body: Buffer }>(
      `select body from webhook_event where application_id = $1 and type = 'message.created'`,
      this.application.id,
    );
    return rows.flatMap(({ body }) => {
      const { deltas } = JSON.parse(body.toString()) as {
        deltas: { object_data: { id: string } }[];
      };
      return deltas.map((delta) => delta.object_data.id);
    });
  }

  /** Makes passes until the mirror and the mailbox are the same. @throws if they stay different */
  async converge(rounds = 6): Promise<void> {
    for (let round = 0; round < rounds; round += 1) {
      await this.settle();
      if (await this.#isSame()) break;
      await this.wait();
    }
    await this.expectSame();
  }

  async #isSame(): Promise<boolean> {
    try {
      await this.expectSame();
      return true;
    } catch {
      return false;
    }
  }

  /** Fails unless the mirror and the mailbox are the same. */
  async expectSame(): Promise<void> {
    const [mirrored, held] = [await this.messages(), await this.driver.messages()];
    expect(shown(await this.folders())).toEqual(shown(await this.driver.folders()));
    const plain = [...mirrored].map(
      ([id, { id: _id, listed: _listed, thread: _thread, ...message }]) => [id, message],
    );
    const there = [...held].map(([id, { thread: _thread, ...message }]) => [id, message]);
    expect(Object.fromEntries(plain)).toEqual(Object.fromEntries(there));
    const hasThreads = [...held.values()].some(({ thread }) => thread !== null);
    if (hasThreads) expect(threadsOf(mirrored)).toEqual(threadsOf(held));
    expect(await this.#fromLog()).toEqual(await this.#objects());
  }

  /** Ids of the objects that somebody has who follows the change log only. */
  async #fromLog(): Promise<string[]> {
    const log = await this.query<{ id: string; event: string }>(
      'select object_id as id, event from change where account_id = $1 and object = any($2) order by seq',
      this.account.id,
      LOGGED,
    );
    const ids = new Set<string>();
    for (const { id, event } of log) {
      if (event === 'delete') ids.delete(id);
      else ids.add(id);
    }
    return [...ids].toSorted();
  }

  async #objects(): Promise<string[]> {
    const found = await this.query<{ id: string }>(OBJECTS, this.account.id);
    return found.map(({ id }) => id);
  }

  async close(): Promise<void> {
    await this.server.close();
  }
}

const shown = (folders: readonly HeldFolder[]) =>
  Object.fromEntries(folders.map(({ id, displayName }): [string, string] => [id, displayName]));

/** Ids of the messages of each thread. */
function threadsOf(messages: ReadonlyMap<string, HeldMessage>): string[] {
  const threads = Map.groupBy(messages, ([, { thread }]) => thread);
  return [...threads]
    .filter(([thread]) => thread !== null)
    .map(([, members]) =>
      members
        .map(([id]) => id)
        .toSorted()
        .join(' '),
    )
    .toSorted();
}
