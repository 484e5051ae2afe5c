import { type MailboxDriver, mailOf } from './mailbox-driver.ts';

const MINUTE = 60_000;

/** How a mailbox is filled. */
export interface Filling {
  messages: number;
  /** Folders of the user, nested in each other. */
  folders: number;
  /** When the newest message was received. */
  newest: Date;
}

/**
 * Fills a mailbox with a history: messages of some years in all standard folders and in the user's
 * own, long threads, drafts, and messages in several folders where the provider has that.
 */
export async function fillMailbox(driver: MailboxDriver, filling: Filling): Promise<void> {
  const own: string[] = [];
  for (let n = 0; n < filling.folders; n += 1) own.push(await driver.createFolder(pathOf(n)));
  const places = (n: number): string[] => {
    const folder = own[n % Math.max(1, own.length)];
    if (n % 5 === 0 && folder) return [folder];
    if (n % 17 === 0) return [driver.standard('sent')];
    if (n % 23 === 0) return [driver.standard('trash')];
    if (n % 29 === 0) return [driver.standard('spam')];
    const inbox = [driver.standard('inbox')];
    return driver.label && n % 3 === 0 && folder ? [...inbox, folder] : inbox;
  };
  for (let n = 0; n < filling.messages; n += 1) {
    const mark = `old-${n}`;
    // Every fifteenth message is an answer in one of two long threads.
    const answers = n >= 30 && n % 15 < 2 ? `old-${n - 15}` : undefined;
    const subject = answers === undefined ? `Subject ${mark}` : `Long ${n % 15}`;
    const first = n >= 15 && n < 30 && n % 15 < 2 ? { subject: `Long ${n % 15}` } : {};
    const at = new Date(filling.newest.getTime() - (filling.messages - n) * 31 * MINUTE);
    const id = await driver.put({
      mime: mailOf(mark, { to: driver.email, subject, ...(answers && { answers }), ...first }),
      at,
      folders: places(n),
      read: n % 4 !== 0,
      draft: n % 37 === 36,
    });
    if (n % 40 === 0) await driver.putHidden?.(mailOf(`hidden-${n}`, { to: driver.email }));
    if (n % 11 === 0) await driver.setFlags(id, { starred: true });
  }
}

/** Levels: `Work 0`, `Work 0/Plans 1`, `Work 0/Plans 1/2`, `Work 3`, … */
function pathOf(n: number): string {
  const above = n - (n % 3);
  return [`Work ${above}`, `Plans ${above + 1}`, `Deep ${n}`].slice(0, (n % 3) + 1).join('/');
}
