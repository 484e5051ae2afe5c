import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { PassingClock } from '../passing-clock.ts';
import { fuzzSettings } from '../../hostile/support/fuzz-settings.ts';
import { sized } from '../sized.ts';
import { Dice } from './dice.ts';
import { fillMailbox } from './filled-mailbox.ts';
import { type MailboxDriver, mailOf, markIn } from './mailbox-driver.ts';
import { MailboxWalk } from './mailbox-walk.ts';
import { MirrorWorld } from './mirror-world.ts';

/** How a suite gets an empty mailbox at a provider. */
export interface MirrorSetting {
  driver: MailboxDriver;
  /** Where the program finds the provider. */
  environment: Record<string, string>;
}

const { seed } = fuzzSettings();
/** Random changes. */
const STEPS = sized(80, 5_000);
const MINUTE = 60_000;

/** A message as the API shows it. */
interface Shown {
  id: string;
  snippet: string;
  body: string;
}

/**
 * What the mirror of every provider guarantees, shown on a mailbox that another program changes.
 * The quotas of the provider apply.
 */
export function describeMirror(
  name: string,
  start: (clock: PassingClock) => Promise<MirrorSetting>,
): void {
  describe(`the mirror of a mailbox at ${name}`, () => {
    let world: MirrorWorld;
    let driver: MailboxDriver;
    const clock = new PassingClock();

    beforeAll(async () => {
      const setting = await start(clock);
      ({ driver } = setting);
      const newest = new Date(clock.now().getTime() - 60 * MINUTE);
      await fillMailbox(driver, { messages: 320, folders: 20, newest });
      world = await MirrorWorld.start(driver, clock, setting.environment);
      await world.open();
    });
    afterAll(async () => {
      await world.close();
      await driver.stop();
    });
    afterEach(() => expect(driver.refusals()).toBe(0));

    const waitAndPass = async () => {
      await world.wait();
      await world.pass(1);
    };
    const put = (mark: string) => driver.put({ mime: mailOf(mark, { to: driver.email }) });

    it('lists the whole mailbox, newest first, and completes it afterwards within the quota', async () => {
      const begun = clock.now().getTime();
      const there = (await driver.messages()).size;
      await world.pass(1);
      const newest: Shown[] = await world.api('get', '/messages?limit=20');
      expect(newest.map(({ snippet }) => markIn(snippet))).not.toContain('');
      // Short passes: a slow machine must not complete everything before the assertions.
      while ((await world.messages()).size < there) await waitAndPass();
      expect(clock.now().getTime() - begun).toBeLessThan(5 * MINUTE);
      const all = [...(await world.messages()).values()];
      const waiting = all.filter(({ listed }) => listed);
      expect(waiting.length).toBeGreaterThan(50);
      // A request for one of them does not wait for the others.
      const { id } = waiting.at(-1)!;
      const { body } = (await world.api('get', `/messages/${id}`)) as Shown;
      expect(markIn(body)).toMatch(/^old-/);
      const arrived = await put('middle');
      while (!(await world.messages()).has(arrived)) await waitAndPass();
      expect((await world.messages()).get(arrived)).toMatchObject({
        mark: 'middle',
        listed: false,
      });
      expect([...(await world.messages()).values()].some(({ listed }) => listed)).toBe(true);
      await world.settle();
      await world.expectSame();
      const news = (await world.messages()).get(arrived)!;
      expect(await world.published()).toEqual([news.id]);
    });

    it('shows a message where it is if the folder it was moved to is deleted by another program', async () => {
      const path = 'Doomed';
      const folderId = await driver.createFolder(path);
      const providerId = await put('stays');
      await world.settle();
      const { id } = (await world.messages()).get(providerId)!;
      const folder = await world.folderId(folderId);
      const place = driver.unit === 'labels' ? { label_ids: [folder] } : { folder_id: folder };
      await world.api('put', `/messages/${id}`, place);
      await driver.deleteFolder(folderId);
      // Microsoft moves it to Deleted Items first.
      if (driver.ownFolders().includes(folderId)) await driver.deleteFolder(folderId);
      await world.pass();
      await world.settle();
      await world.expectSame();
    });

    it(`shows what another program and the API change at random (seed ${seed})`, async () => {
      const walk = new MailboxWalk(world, new Dice(seed));
      await walk.note();
      try {
        await walk.run(STEPS);
        await world.converge();
        await walk.note();
      } catch (error) {
        console.error(walk.log.join('\n'));
        throw error;
      }
      const published = new Map<string, number>();
      for (const id of await world.published()) published.set(id, (published.get(id) ?? 0) + 1);
      expect([...published].filter(([, times]) => times > 1)).toEqual([]);
      for (const { id, mark } of (await world.messages()).values()) {
        if (walk.news.has(mark)) expect([mark, published.get(id)]).toEqual([mark, 1]);
        if (mark.startsWith('old-')) expect([mark, published.get(id)]).toEqual([mark, undefined]);
      }
    });
  });
}
