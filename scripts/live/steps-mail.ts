import { randomBytes } from 'node:crypto';
import { field, items, text } from '../lib/api-client.ts';
import { StepFailure } from '../lib/report.ts';
import type { Walk } from './walk.ts';

const READ = ['email', 'email.modify', 'email.read_only'];
const SEND = ['email', 'email.send'];
const DRAFTS = ['email', 'email.modify', 'email.drafts'];
const FOLDERS = ['email', 'email.modify', 'email.folders_and_labels'];

const FIRST_SYNC_SECONDS = 120;
const EMPTY_SECONDS = 30;
const ARRIVAL_SECONDS = 120;
const LATER_SECONDS = 20;

/** Mark in everything that the run makes, so that a user recognises it. */
const mark = (): string => `Carillon live check ${randomBytes(4).toString('hex')}`;
const unixNow = (): number => Math.floor(Date.now() / 1000);

/** Whether the account has `folders` or `labels`. */
async function unitOf(walk: Walk): Promise<'folders' | 'labels'> {
  const account = await walk.expect('GET', '/account');
  return field(account, 'organization_unit') === 'label' ? 'labels' : 'folders';
}

async function readNewest(walk: Walk): Promise<void> {
  const { report } = walk;
  const begun = performance.now();
  const found = await walk.until(FIRST_SYNC_SECONDS, async () => {
    const list = items(await walk.expect('GET', '/messages?limit=5'));
    const state = field(await walk.expect('GET', '/account'), 'sync_state');
    if (state === 'invalid' || state === 'sync-error' || state === 'stopped')
      throw new StepFailure(`the mirror does not run: sync_state is ${state}`);
    const isEmpty = performance.now() - begun > EMPTY_SECONDS * 1000 && state === 'running';
    return list.length > 0 || isEmpty ? list : undefined;
  });
  if (!found) throw new StepFailure('no message was read within two minutes');
  const [newest] = found;
  if (!newest) return walk.skip('newest messages', 'the mailbox is empty');
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  report.verify(`the newest ${found.length} messages are listed after ${seconds} s`, true);
  const message = await walk.expect('GET', `/messages/${text(newest, 'id')}`);
  const date = new Date(Number(field(message, 'date')) * 1000).toISOString();
  report.verify(`the newest one, of ${date}, is read with its content`, 'body' in Object(message));
}

async function listFolders(walk: Walk): Promise<void> {
  const unit = await unitOf(walk);
  const names = items(await walk.expect('GET', `/${unit}?limit=100`)).map((one) =>
    field(one, 'name'),
  );
  walk.report.verify(`${names.length} ${unit} are listed`, names.length > 0);
  for (const name of ['inbox', 'sent', 'drafts', 'trash'])
    walk.report.verify(`one of them is ${name}`, names.includes(name), names);
}

/** Messages of this run, in the inbox or in Sent. */
async function copiesIn(walk: Walk, subject: string, folder: string): Promise<unknown[]> {
  const query = `subject=${encodeURIComponent(subject)}&in=${folder}`;
  return items(await walk.expect('GET', `/messages?${query}`));
}

/** Moves the messages of this run to the trash. The API has no deletion of messages. */
async function throwAway(walk: Walk, subject: string): Promise<void> {
  const unit = await unitOf(walk);
  const all = items(await walk.expect('GET', `/${unit}?limit=100`));
  const trash = text(
    all.find((one) => field(one, 'name') === 'trash'),
    'id',
  );
  const query = `subject=${encodeURIComponent(subject)}&not_in=trash`;
  for (const message of items(await walk.expect('GET', `/messages?${query}`))) {
    const labels = unit === 'labels' ? items(field(message, 'labels')) : [];
    const sent = labels.filter((one) => field(one, 'name') === 'sent');
    const body =
      unit === 'labels'
        ? { label_ids: [...sent.map((one) => text(one, 'id')), trash] }
        : { folder_id: trash };
    const changed = await walk.expect('PUT', `/messages/${text(message, 'id')}`, body);
    await walk.job(changed, 'a message of this run is moved to the trash');
  }
}

async function sendToOneself(walk: Walk, sendAt: number | null): Promise<void> {
  const { report, account } = walk;
  const subject = mark();
  const canRead = READ.some((scope) => account.scopes.includes(scope));
  const sent = await walk.expect('POST', '/v2/outbox', {
    to: [{ email: account.email }],
    subject,
    body: '<p>This message was sent by a check of Carillon. It can be deleted.</p>',
    ...(sendAt === null ? {} : { send_at: sendAt }),
  });
  const remove = walk.made(`the messages "${subject}"`, () => throwAway(walk, subject));
  await walk.job(sent, 'the company has taken the message');
  if (sendAt !== null)
    report.verify('and not before its time', unixNow() >= sendAt, { sendAt, now: unixNow() });
  if (!canRead) return walk.skip('arrival', 'reading mail is not allowed');
  const arrived = await walk.until(ARRIVAL_SECONDS, async () =>
    (await copiesIn(walk, subject, 'inbox')).length > 0 ? true : undefined,
  );
  report.verify('it has arrived in the inbox', arrived === true, 'look into the spam folder');
  const kept = await walk.until(ARRIVAL_SECONDS, async () => {
    const copies = await copiesIn(walk, subject, 'sent');
    return copies.length > 0 ? copies : undefined;
  });
  report.verify('Sent has exactly one copy', kept?.length === 1, kept?.length ?? 0);
  await remove();
}

async function draft(walk: Walk): Promise<void> {
  const subject = mark();
  const made = await walk.expect('POST', '/drafts', {
    to: [{ email: walk.account.email }],
    subject,
    body: '<p>A draft of a check of Carillon. It can be deleted.</p>',
  });
  const path = `/drafts/${text(made, 'id')}`;
  const remove = walk.made(`the draft "${subject}"`, async () => {
    const { version } = Object(await walk.expect('GET', path)) as { version: number };
    await walk.job(await walk.expect('DELETE', path, { version }), 'the draft is deleted');
  });
  await walk.job(made, 'a draft is saved in the mailbox');
  const version = field(await walk.expect('GET', path), 'version');
  const changed = await walk.expect('PUT', path, { version, subject: `${subject}, changed` });
  await walk.job(changed, 'the draft is changed');
  await remove();
}

async function folder(walk: Walk): Promise<void> {
  const unit = await unitOf(walk);
  const one = unit.slice(0, -1);
  const name = mark();
  const made = await walk.expect('POST', `/${unit}`, { display_name: name });
  const path = `/${unit}/${text(made, 'id')}`;
  const remove = walk.made(`the ${one} "${name}"`, async () =>
    walk.job(await walk.expect('DELETE', path), `the ${one} is deleted`),
  );
  await walk.job(made, `a ${one} is created`);
  await remove();
}

/** Reads, sends, drafts and files. */
export async function checkMail(walk: Walk): Promise<void> {
  await walk.step('The newest messages', READ, () => readNewest(walk));
  await walk.step('Folders or labels', READ, () => listFolders(walk));
  await walk.step('A message to oneself', SEND, () => sendToOneself(walk, null));
  await walk.step(`A message to oneself in ${LATER_SECONDS} seconds`, SEND, () =>
    sendToOneself(walk, unixNow() + LATER_SECONDS),
  );
  await walk.step('A draft', DRAFTS, () => draft(walk));
  await walk.step('A folder or label of its own', FOLDERS, () => folder(walk));
}
