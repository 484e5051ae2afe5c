import type { Dice } from './dice.ts';
import { type HeldMessage, type MailboxDriver, mailOf } from './mailbox-driver.ts';
import type { MirroredMessage, MirrorWorld } from './mirror-world.ts';

type Step = () => Promise<unknown>;

/** Each step and how often it is chosen. */
type Weighted = readonly (readonly [number, Step])[];

/**
 * Changes a mailbox at random, as another program and through the API, with sync passes and
 * provider writes in between.
 */
export class MailboxWalk {
  readonly #driver: MailboxDriver;
  #made = 0;
  /** Marks of messages that arrived while the mailbox was mirrored. */
  readonly news = new Set<string>();
  /** Our id of each message, by the provider's. */
  readonly ids = new Map<string, string>();
  /** The steps so far, for failures. */
  readonly log: string[] = [];

  constructor(
    private readonly world: MirrorWorld,
    private readonly dice: Dice,
  ) {
    this.#driver = world.driver;
  }

  /** Makes `steps` changes. */
  async run(steps: number): Promise<void> {
    for (let n = 0; n < steps; n += 1) await this.#one(this.#steps());
  }

  #steps(): Weighted {
    return [
      [6, () => this.#deliver()],
      [2, () => this.#deliverInto()],
      [1, () => this.#deliverAndRemove()],
      [1, () => this.#deliverHidden()],
      [3, () => this.#remove()],
      [4, async () => this.#move(await this.#anyFolder())],
      [2, () => this.#move(this.#driver.standard('trash'))],
      [1, () => this.#move(this.#driver.standard('spam'))],
      [2, () => this.#restore()],
      [3, () => this.#label()],
      [4, () => this.#flags()],
      [1, () => this.#empty()],
      [1, () => this.#createFolder()],
      [1, () => this.#renameFolder()],
      [1, () => this.#deleteFolder()],
      [1, () => this.#draft()],
      [2, () => this.#editDraft()],
      [3, () => this.#apiFlags()],
      [3, () => this.#apiMove()],
      [1, () => this.#apiFolder()],
      [2, () => this.#apiDraft()],
      [1, () => this.#apiSend()],
      [4, () => this.pass()],
      [2, () => this.#write()],
      [1, () => this.world.clock.pass(this.dice.below(900_000))],
      [1, () => this.#forget()],
    ];
  }

  async #one(steps: Weighted): Promise<void> {
    const sum = steps.reduce((total, [weight]) => total + weight, 0);
    let at = this.dice.below(sum);
    for (const [weight, step] of steps) {
      at -= weight;
      if (at < 0) return void (await step());
    }
  }

  /** A sync pass, and sometimes one that ends in the middle. */
  async pass(): Promise<void> {
    this.log.push('pass');
    await this.world.wait();
    // Meanwhile the budget fills, so that nothing waits for it in real time.
    await this.world.clock.pass(this.dice.below(60_000));
    await this.world.pass(this.dice.oneIn(3) ? 1 + this.dice.below(3) : Infinity);
    await this.note();
  }

  /** Notes the ids of all messages. Fails if one has changed. */
  async note(): Promise<void> {
    for (const [providerId, { id }] of await this.world.messages()) {
      if (providerId === null) continue;
      const before = this.ids.get(providerId) ?? id;
      if (before !== id) throw new Error(`${providerId} was ${before} and is ${id}`);
      this.ids.set(providerId, id);
    }
  }

  async #forget(): Promise<void> {
    this.log.push('forget changes');
    this.#driver.forgetChanges();
  }

  async #write(): Promise<void> {
    this.log.push('write');
    await this.world.write();
  }

  #mark(): string {
    this.#made += 1;
    return `new-${this.#made}`;
  }

  async #anyFolder(): Promise<string> {
    const own = await this.#driver.ownFolders();
    return this.dice.pick([...own, ...own, this.#driver.standard('inbox')]) ?? '';
  }

  async #held(
    isWanted: (message: HeldMessage) => boolean = ({ draft }) => !draft,
  ): Promise<[string, HeldMessage] | undefined> {
    return this.dice.pick([...(await this.#driver.messages())].filter(([, one]) => isWanted(one)));
  }

  async #deliver(folders?: string[]): Promise<string> {
    const mark = this.#mark();
    const answered = this.dice.oneIn(3) ? await this.#held() : undefined;
    const { driver } = this.world;
    const answers = answered?.[1].mark;
    const subject = answered?.[1].subject;
    const mime = mailOf(mark, {
      to: driver.email,
      ...(answers && subject && { answers, subject }),
    });
    this.news.add(mark);
    const id = await driver.put({ mime, ...(folders && { folders }) });
    this.log.push(`deliver ${mark} as ${id}${answers ? `, to ${answers}` : ''}`);
    return id;
  }

  async #deliverInto(): Promise<void> {
    await this.#deliver([await this.#anyFolder()]);
  }

  async #deliverAndRemove(): Promise<void> {
    await this.#driver.remove(await this.#deliver());
  }

  async #deliverHidden(): Promise<void> {
    const mark = this.#mark();
    this.log.push(`hidden ${mark}`);
    await this.#driver.putHidden?.(mailOf(mark, { to: this.#driver.email }));
  }

  async #remove(): Promise<void> {
    const [id] = (await this.#held(() => true)) ?? [];
    if (id === undefined) return;
    this.log.push(`remove ${id}`);
    await this.#driver.remove(id);
  }

  async #move(folderId: string): Promise<void> {
    const [id] = (await this.#held()) ?? [];
    if (id === undefined) return;
    this.log.push(`move ${id} to ${folderId}`);
    await this.#driver.move(id, folderId);
  }

  async #restore(): Promise<void> {
    const trash = this.#driver.standard('trash');
    const [id] =
      (await this.#held(({ folders, draft }) => !draft && folders.includes(trash))) ?? [];
    if (id === undefined) return;
    this.log.push(`restore ${id}`);
    await this.#driver.move(id, this.#driver.standard('inbox'));
  }

  async #label(): Promise<void> {
    const [id, message] = (await this.#held()) ?? [];
    if (!this.#driver.label || id === undefined) return this.#flags();
    const label = await this.#anyFolder();
    const isOn = message?.folders.includes(label) === false;
    this.log.push(`${isOn ? 'label' : 'unlabel'} ${id} ${label}`);
    return this.#driver.label(id, label, isOn);
  }

  async #flags(): Promise<void> {
    const [id, message] = (await this.#held(() => true)) ?? [];
    if (id === undefined || !message) return;
    const flags = this.dice.oneIn(2) ? { unread: !message.unread } : { starred: !message.starred };
    this.log.push(`flags ${id} ${JSON.stringify(flags)}`);
    await this.#driver.setFlags(id, flags);
  }

  /** Moves everything out of a folder. */
  async #empty(): Promise<void> {
    const [from, to] = [await this.#anyFolder(), await this.#anyFolder()];
    this.log.push(`move all of ${from} to ${to}`);
    for (const [id, { folders, draft }] of await this.#driver.messages())
      if (folders.includes(from) && !draft) await this.#driver.move(id, to);
  }

  #newPath(): string {
    this.#made += 1;
    return this.dice.oneIn(2) ? `Made ${this.#made}` : `Group/Made ${this.#made}`;
  }

  async #createFolder(): Promise<void> {
    const path = this.#newPath();
    this.log.push(`create folder ${path} as ${await this.#driver.createFolder(path)}`);
  }

  async #renameFolder(): Promise<void> {
    const id = this.dice.pick(await this.#driver.ownFolders());
    const held = (await this.#driver.folders()).find((folder) => folder.id === id);
    if (!held) return;
    const path = this.#newPath();
    // A folder cannot be below itself.
    if (`${path}/`.startsWith(`${held.displayName}/`)) return;
    this.log.push(`rename folder ${held.id} from ${held.displayName} to ${path}`);
    await this.#driver.renameFolder(held.id, path);
  }

  async #deleteFolder(): Promise<void> {
    const id = this.dice.pick(await this.#driver.ownFolders());
    if (id === undefined) return;
    this.log.push(`delete folder ${id}`);
    await this.#driver.deleteFolder(id);
  }

  async #draft(): Promise<void> {
    const mark = this.#mark();
    const mime = mailOf(mark, { to: this.#driver.correspondent, from: this.#driver.email });
    const id = await this.#driver.put({ mime, draft: true });
    this.log.push(`draft ${mark} as ${id}`);
  }

  async #editDraft(): Promise<void> {
    const [id, held] = (await this.#held(({ draft }) => draft)) ?? [];
    if (id === undefined || !held) return;
    const mark = this.#mark();
    this.log.push(`edit draft ${id} from ${held.mark} to ${mark}`);
    const people = { to: this.#driver.correspondent, from: this.#driver.email };
    // Some programs keep the Message-ID of a draft.
    const mime = mailOf(mark, { ...people, ...(this.dice.oneIn(2) && { id: held.mark }) });
    await this.#driver.editDraft(id, mime);
  }

  /** A request may be refused, because the mailbox has changed. It must not fail. */
  async #api(method: 'post' | 'put' | 'delete', path: string, body?: object): Promise<void> {
    const { status } = await this.world.call(method, path, body);
    const id = path.split('/').at(-1);
    const remote = [...this.ids].find(([, own]) => own === id)?.[0] ?? '';
    this.log.push(`${method} ${path} ${JSON.stringify(body)}: ${status} ${remote}`);
    if (status >= 500) throw new Error(`${method} ${path}: ${status}`);
  }

  async #mirrored(isWanted: (message: MirroredMessage) => boolean) {
    const all = [...(await this.world.messages()).values()].filter(isWanted);
    return this.dice.pick(all.toSorted((a, b) => (a.mark < b.mark ? -1 : 1)));
  }

  async #folderId(): Promise<string | undefined> {
    const own = await this.#driver.ownFolders();
    const rows = await this.world.query<{ id: string }>(
      'select id from folder where account_id = $1 and provider_id = any($2) order by display_name',
      this.world.account.id,
      own,
    );
    return this.dice.pick(rows)?.id;
  }

  async #apiFlags(): Promise<void> {
    const message = await this.#mirrored(({ draft }) => !draft);
    if (!message) return;
    const change = this.dice.oneIn(2) ? { unread: !message.unread } : { starred: !message.starred };
    await this.#api('put', `/messages/${message.id}`, change);
  }

  async #apiMove(): Promise<void> {
    const message = await this.#mirrored(({ draft }) => !draft);
    const folder = await this.#folderId();
    if (!message || folder === undefined) return;
    const place = this.#driver.unit === 'labels' ? { label_ids: [folder] } : { folder_id: folder };
    await this.#api('put', `/messages/${message.id}`, place);
  }

  async #apiFolder(): Promise<void> {
    const { unit } = this.#driver;
    const display_name = this.#newPath();
    const folder = await this.#folderId();
    if (folder === undefined || this.dice.oneIn(3))
      return this.#api('post', `/${unit}`, { display_name });
    return this.dice.oneIn(2)
      ? this.#api('put', `/${unit}/${folder}`, { display_name })
      : this.#api('delete', `/${unit}/${folder}`);
  }

  async #apiDraft(): Promise<void> {
    const mark = this.#mark();
    const content = { subject: `Draft ${mark}`, body: `Mark:${mark}.` };
    const draft = await this.#mirrored((message) => message.draft);
    if (!draft || this.dice.oneIn(2)) return this.#api('post', '/drafts', content);
    if (this.dice.oneIn(3)) return this.#api('delete', `/drafts/${draft.id}`, { version: 0 });
    const { body } = await this.world.call('get', `/drafts/${draft.id}`);
    const { version = 0 } = body as { version?: number };
    return this.#api('put', `/drafts/${draft.id}`, { ...content, version });
  }

  async #apiSend(): Promise<void> {
    const mark = this.#mark();
    const asked = await this.#mirrored(({ draft, folders }) => !draft && folders.length > 0);
    const reply = asked && this.dice.oneIn(2) ? { reply_to_message_id: asked.id } : {};
    const subject = reply.reply_to_message_id ? `Re: ${asked?.subject}` : `Sent ${mark}`;
    const to = [{ email: this.#driver.correspondent }];
    await this.#api('post', '/send', { to, subject, body: `Mark:${mark}.`, ...reply });
  }
}
