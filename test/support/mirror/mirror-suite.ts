import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { PassingClock } from '../passing-clock.ts';
import { fuzzSettings } from '../../hostile/support/fuzz-settings.ts';
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

const { seed, factor } = fuzzSettings();
/** Random changes. */
const STEPS = 60 * factor;
const MINUTE = 60_000;

/** How a provider differs from others. */
export interface MirrorTraits {
  /** Whether the mirror lists its messages first, and reads their contents later. Default: true. */
  lists?: boolean;
  /** Messages and folders that the mailbox has at first. Default: 200 and 20. */
  messages?: number;
  folders?: number;
  /** Messages of a large folder. Default: 20. */
  large?: number;
  /** Whether it can fail on single messages. Default: true. */
  canFail?: boolean;
}

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
  { canFail = true, lists = true, messages = 200, folders = 20, large = 20 }: MirrorTraits = {},
): void {
  describe(`the mirror of a mailbox at ${name}`, () => {
    let world: MirrorWorld;
    let driver: MailboxDriver;
    const clock = new PassingClock();

    beforeAll(async () => {
      const setting = await start(clock);
      ({ driver } = setting);
      const newest = new Date(clock.now().getTime() - 60 * MINUTE);
      await fillMailbox(driver, { messages, folders, newest });
      world = await MirrorWorld.start(driver, clock, setting.environment);
      await world.open();
    });
    afterAll(async () => {
      await world.close();
      await driver.stop();
    });
    afterEach(() => {
      driver.failOn?.([]);
      expect(driver.refusals()).toBe(0);
    });

    const waitAndPass = async () => {
      await world.wait();
      await world.pass(1);
    };
    const waitAndPassWhole = async () => {
      await world.wait();
      await world.pass();
    };
    /** Moves a message through the API. */
    const move = async (id: string, folderProviderId: string) => {
      const folder = await world.folderId(folderProviderId);
      const place = driver.unit === 'labels' ? { label_ids: [folder] } : { folder_id: folder };
      await world.api('put', `/messages/${id}`, place);
    };
    /** Microsoft moves a folder to Deleted Items first. */
    const deleteForGood = async (folderId: string) => {
      while ((await driver.ownFolders()).includes(folderId)) await driver.deleteFolder(folderId);
    };
    /** Those of the marks are news, and no other message is. */
    const expectPublished = async (marks: readonly string[]) => {
      const all = new Map([...(await world.messages()).values()].map(({ id, mark }) => [id, mark]));
      const published = (await world.published()).map((id) => all.get(id) ?? '');
      expect(published.toSorted()).toEqual(marks.toSorted());
    };
    const put = (mark: string) => driver.put({ mime: mailOf(mark, { to: driver.email }) });

    if (lists) {
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
    }

    it('is complete again, with the same ids, when the provider has forgotten its changes', async () => {
      await world.settle();
      const before = await world.messages();
      const isOld = ({ draft, mark }: { draft: boolean; mark: string }) =>
        !draft && mark.startsWith('old-');
      const ids = [...before].flatMap(([id, one]) => (isOld(one) ? [id] : []));
      const [removed, moved] = ids as [string, string];
      await put('before-loss');
      await driver.remove(removed);
      await driver.move(moved, (await driver.ownFolders())[0]!);
      driver.forgetChanges();
      await driver.renameFolder((await driver.ownFolders())[1]!, 'Renamed in between');
      await put('after-loss');
      await world.settle();
      await world.expectSame();
      const after = await world.messages();
      expect(after.has(removed)).toBe(false);
      for (const [providerId, { id }] of after)
        expect([providerId, id]).toEqual([providerId, before.get(providerId)?.id ?? id]);
      await expectPublished([...(lists ? ['middle'] : []), 'before-loss', 'after-loss']);
    });

    if (canFail) {
      it('has all other messages while the provider fails on some, and those later', async () => {
        const moved = await put('moved');
        await world.settle();
        const poison = await put('poison');
        driver.failOn?.([poison, moved]);
        const target = (await driver.ownFolders())[0]!;
        await driver.move(moved, target);
        const other = await put('beside-poison');
        await waitAndPassWhole();
        const between = await world.messages();
        expect(between.get(other)).toMatchObject({ mark: 'beside-poison', listed: false });
        expect(between.get(poison)?.mark ?? '').toBe('');
        await driver.setFlags(other, { starred: true });
        await waitAndPassWhole();
        expect((await world.messages()).get(other)).toMatchObject({ starred: true });
        driver.failOn?.([]);
        const isDone = (mirrored: Awaited<ReturnType<typeof world.messages>>) =>
          mirrored.get(poison)?.mark === 'poison' &&
          mirrored.get(moved)?.folders.includes(target) === true;
        while (!isDone(await world.messages())) await waitAndPassWhole();
        await world.expectSame();
      });
    }

    it('loses no message that was moved out of a large folder before the folder was deleted', async () => {
      const folderId = await driver.createFolder('Large');
      const file = async (mark: string) =>
        driver.put({ mime: mailOf(mark, { to: driver.email }), folders: [folderId] });
      const ids: string[] = [];
      for (let n = 0; n < large; n += 1) ids.push(await file(`large-${n}`));
      await world.settle();
      const before = await world.messages();
      for (const id of ids.slice(0, 5)) await driver.move(id, driver.standard('inbox'));
      await deleteForGood(folderId);
      await world.settle();
      await world.expectSame();
      const after = await world.messages();
      for (const id of ids.slice(0, 5)) {
        // At some providers a moved message has another id.
        const moved = [...after.values()].find(({ mark }) => mark === before.get(id)?.mark);
        expect(moved?.id).toBe(before.get(id)?.id);
      }
    });

    it('removes a message that was deleted with its folder while the API moves it elsewhere', async () => {
      const [from, to] = [await driver.createFolder('From'), await driver.createFolder('To')];
      const mime = mailOf('deleted-on-its-way', { to: driver.email });
      const providerId = await driver.put({ mime, folders: [from] });
      await world.settle();
      await move((await world.messages()).get(providerId)!.id, to);
      await deleteForGood(from);
      await world.pass();
      await world.settle();
      await world.expectSame();
    });

    it('shows a message where it is if the folder it was moved to is deleted by another program', async () => {
      const path = 'Doomed';
      const folderId = await driver.createFolder(path);
      const providerId = await put('stays');
      await world.settle();
      const { id } = (await world.messages()).get(providerId)!;
      await move(id, folderId);
      await deleteForGood(folderId);
      await world.pass();
      await world.settle();
      await world.expectSame();
    });

    it(
      `shows what another program and the API change at random (seed ${seed})`,
      async () => {
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
      },
      180_000 * factor,
    );
  });
}
