import fs from 'node:fs/promises';
import path from 'node:path';
import { describeWith } from '../support/mail-servers/installed.ts';
import { ImapDriver } from '../support/mirror/imap-driver.ts';
import { mailOf } from '../support/mirror/mailbox-driver.ts';
import { MirrorWorld } from '../support/mirror/mirror-world.ts';
import { PassingClock } from '../support/passing-clock.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
/** Several batches of 250. */
const MESSAGES = 1_100;

describeWith(['dovecot', 'exim4'], 'folders whose UIDVALIDITY has changed', () => {
  const clock = new PassingClock();
  let driver: ImapDriver;
  let world: MirrorWorld;

  beforeAll(async () => {
    driver = await ImapDriver.start();
    await driver.createFolder('Work');
    await fill(driver);
    world = await MirrorWorld.start(driver, clock, {});
    await world.open();
    await world.converge();
  });
  afterAll(async () => {
    await world.close();
    await driver.stop();
  });

  /** Our ids by the mark of a message and its folder. */
  async function ids(): Promise<Record<string, string>> {
    const all = [...(await world.messages()).values()];
    const named = all.map(({ id, mark, folders }): [string, string] => [
      `${mark} ${folders.join()}`,
      id,
    ]);
    return Object.fromEntries(named);
  }
  /** Makes one batch at a time, and six minutes pass after each. */
  async function settleSlowly(): Promise<void> {
    for (let batches = 0; batches < 60; batches += 1) {
      const { kind } = await world.pass(1);
      if (kind === 'current') return;
      await clock.pass(6 * MINUTE);
    }
    throw new Error('the mirror is not complete after 60 batches');
  }

  it('keep the ids of their messages, however long reading them takes', async () => {
    const before = await ids();
    const published = await world.published();
    await driver.renumber('INBOX', 'Work', 'Sent');
    const [gone] = [...(await driver.messages())].find(([, { mark }]) => mark === 'old-901') ?? [];
    const [read] = [...(await driver.messages())].find(([, { mark }]) => mark === 'old-7') ?? [];
    const [moved] = [...(await driver.messages())].find(([, { mark }]) => mark === 'old-8') ?? [];
    await driver.remove(gone!);
    await driver.setFlags(read!, { unread: false, starred: true });
    await driver.move(moved!, 'Archive');
    await driver.put({ mime: mailOf('news', { to: driver.email }) });
    driver.takeCommands();

    await settleSlowly();
    await world.converge();
    const after = await ids();
    const { 'news INBOX': news, 'old-8 Archive': archived, ...same } = after;
    const { 'old-901 INBOX': _removed, 'old-8 INBOX': filed, ...kept } = before;
    expect(same).toEqual(kept);
    expect(archived).toBe(filed);
    expect((await world.published()).slice(published.length)).toEqual([news]);
    // The new message, the one that was moved, and those without a Message-ID.
    const contents = driver.takeCommands().filter((command) => command.includes('BODY.PEEK[]'));
    expect(contents.length).toBeLessThan(10);
  });

  it('lose the messages that are gone once the folder is read', async () => {
    const before = await ids();
    await driver.renumber('Work');
    for (const [id, { folders }] of await driver.messages())
      if (folders.includes('Work')) await driver.remove(id);
    await settleSlowly();
    await world.converge();
    const kept = Object.entries(before).filter(([place]) => !place.endsWith(' Work'));
    expect(await ids()).toEqual(Object.fromEntries(kept));
  });

  it('are told apart from each other when they contain the same message', async () => {
    const mime = mailOf('twice', { to: driver.email });
    const at = new Date(clock.now().getTime() - DAY);
    for (const folder of ['Sent', 'INBOX', 'Work'])
      await driver.put({ mime, at, folders: [folder] });
    await world.converge();
    const before = await ids();
    await driver.renumber('Sent', 'INBOX', 'Work');
    await settleSlowly();
    await world.converge();
    expect(await ids()).toEqual(before);
  });
});

/** A year of mail: some messages are there twice, some have no Message-ID. */
async function fill(driver: ImapDriver): Promise<void> {
  // The server makes the directories of folders when they are opened.
  await driver.messages();
  const newest = Date.now() - DAY;
  for (let n = 0; n < MESSAGES; n += 1) {
    const folder = n % 25 === 0 ? 'Work' : n % 40 === 7 ? 'Sent' : 'INBOX';
    const mark = `old-${n}`;
    const id = n % 50 === 3 ? `old-${n - 1}` : mark;
    const mime = mailOf(mark, { to: driver.email, id });
    const isNameless = n % 100 === 50;
    const file = path.join(
      driver.directoryOf(folder),
      'cur',
      `${n}.test.host:2,${n % 3 ? 'S' : ''}`,
    );
    await fs.writeFile(file, isNameless ? mime.replace(/Message-ID:.*\r\n/, '') : mime, {
      mode: 0o666,
    });
    const at = new Date(newest - (MESSAGES - n) * 31 * MINUTE);
    await fs.utimes(file, at, at);
  }
}
