import type { Any } from '../google/stub-client.ts';
import { StubClient } from '../google/stub-client.ts';
import { GraphClient } from '../microsoft/graph-client.ts';
import type { Json } from '../microsoft/http/types.ts';
import { type CompanyStub, plainMessage } from './company.ts';
import { GoogleCompanyStub } from './google-company.ts';
import { MicrosoftCompanyStub } from './microsoft-company.ts';

/** Another program that uses the account of a user, such as the company's own pages. */
export interface OtherProgram {
  /** Lets a message arrive in the inbox. */
  deliver(subject: string): Promise<void>;
  /** Moves a message to a folder of the user. */
  move(subject: string, folder: string): void;
  /** Deletes a message for good. */
  remove(subject: string): void;
  createFolder(name: string): void;
  renameFolder(name: string, to: string): void;
  /** Google keeps the messages of a label, Microsoft deletes those of a folder. */
  removeFolder(name: string): void;
  /** @param day of March 2030 @param days a series takes place on so many days */
  addEvent(title: string, day: number, days?: number): Promise<void>;
  renameEvent(title: string, to: string): Promise<void>;
  removeEvent(title: string): Promise<void>;
  /** @param index of the instance, from 0 */
  renameInstance(title: string, index: number, to: string): Promise<void>;
  removeInstance(title: string, index: number): Promise<void>;
  addContact(name: string): Promise<void>;
  renameContact(name: string, to: string): Promise<void>;
  removeContact(name: string): Promise<void>;
}

/** Another program of a user of a stub. */
export function otherProgram(company: CompanyStub, email: string): OtherProgram {
  if (company instanceof GoogleCompanyStub) return new GoogleProgram(company, email);
  if (company instanceof MicrosoftCompanyStub) return new MicrosoftProgram(company, email);
  throw new Error('This company has no other program.');
}

const at = (day: number, hour: number) =>
  `2030-03-${String(day).padStart(2, '0')}T${String(hour).padStart(2, '0')}:00:00`;

function found<T>(one: T | undefined, name: string): T {
  if (one === undefined) throw new Error(`There is no ${name}.`);
  return one;
}

class GoogleProgram implements OtherProgram {
  readonly #ids = new Map<string, string>();
  readonly #client: StubClient;

  constructor(
    private readonly company: GoogleCompanyStub,
    private readonly email: string,
  ) {
    this.#client = new StubClient(company.stub, email);
  }

  get #user() {
    return found(this.company.stub.world.users.get(this.email), this.email);
  }

  async deliver(subject: string) {
    await this.company.deliver(this.email, plainMessage(this.email, subject));
  }

  move(subject: string, folder: string) {
    const { mailbox } = this.#user;
    mailbox.relabel(this.#message(subject), [this.#label(folder)], ['INBOX']);
  }

  remove(subject: string) {
    this.#user.mailbox.remove(this.#message(subject));
  }

  createFolder(name: string) {
    this.#user.mailbox.labels.create({ name });
  }

  renameFolder(name: string, to: string) {
    this.#user.mailbox.labels.change(this.#label(name), { name: to });
  }

  removeFolder(name: string) {
    this.#user.mailbox.removeLabel(this.#label(name));
  }

  async addEvent(summary: string, day: number, days = 1) {
    const time = (hour: number) => ({ dateTime: at(day, hour), timeZone: 'UTC' });
    const recurrence = days > 1 ? { recurrence: [`RRULE:FREQ=DAILY;COUNT=${days}`] } : {};
    const body = { summary, start: time(9), end: time(10), ...recurrence };
    const { id } = await this.#calendar('POST', '', body);
    this.#ids.set(summary, id as string);
  }

  async renameEvent(title: string, to: string) {
    await this.#calendar('PATCH', `/${this.#id(title)}`, { summary: to });
  }

  async removeEvent(title: string) {
    await this.#calendar('DELETE', `/${this.#id(title)}`);
  }

  async renameInstance(title: string, index: number, to: string) {
    await this.#calendar('PATCH', `/${await this.#instance(title, index)}`, { summary: to });
  }

  async removeInstance(title: string, index: number) {
    await this.#calendar('DELETE', `/${await this.#instance(title, index)}`);
  }

  async addContact(givenName: string) {
    this.#user.contacts.add({ names: [{ givenName }] });
  }

  async renameContact(name: string, to: string) {
    const contact = this.#contact(name);
    contact.fields['names'] = [{ givenName: to }];
    this.#user.contacts.touch(contact);
  }

  async removeContact(name: string) {
    const contact = this.#contact(name);
    contact.isDeleted = true;
    this.#user.contacts.touch(contact);
  }

  #message(subject: string) {
    const all = this.#user.mailbox.messages();
    const message = all.find(({ raw }) => raw.includes(`Subject: ${subject}\r\n`));
    return found(message, subject);
  }

  #label(name: string): string {
    return found(this.#user.mailbox.labels.named(name) ?? undefined, name).id;
  }

  #contact(name: string) {
    const all = [...this.#user.contacts.people.values()];
    const contact = all.find(({ fields }) => JSON.stringify(fields['names']).includes(name));
    return found(contact, name);
  }

  #id(title: string): string {
    return found(this.#ids.get(title), title);
  }

  async #instance(title: string, index: number): Promise<string> {
    const path = `/${this.#id(title)}/instances`;
    const all: { id: string }[] = [];
    // A page may be empty although another one follows.
    for (let query: string | undefined = ''; query !== undefined;) {
      const { items, nextPageToken: next } = await this.#calendar('GET', path + query);
      all.push(...(items as typeof all));
      query = next && `?pageToken=${encodeURIComponent(next as string)}`;
    }
    return found(all[index], title).id;
  }

  async #calendar(method: string, path: string, body?: object): Promise<Any> {
    const events = `/calendar/v3/calendars/${encodeURIComponent(this.email)}/events`;
    const answer = await this.#client.call(method, events + path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status}`);
    return answer.body;
  }
}

const PERMISSIONS = ['Calendars.ReadWrite', 'Contacts.ReadWrite'];

class MicrosoftProgram implements OtherProgram {
  readonly #ids = new Map<string, string>();
  readonly #client: GraphClient;

  constructor(
    private readonly company: MicrosoftCompanyStub,
    private readonly email: string,
  ) {
    const { accessToken } = company.stub.tokensFor(email, PERMISSIONS);
    this.#client = new GraphClient(company.stub, accessToken);
  }

  get #mailbox() {
    return this.company.stub.user(this.email).mailbox;
  }

  async deliver(subject: string) {
    await this.company.deliver(this.email, plainMessage(this.email, subject));
  }

  move(subject: string, folder: string) {
    this.#mailbox.move(this.#message(subject), this.#folder(folder).id);
  }

  remove(subject: string) {
    this.#mailbox.remove(this.#message(subject));
  }

  createFolder(name: string) {
    this.#mailbox.createFolder(name);
  }

  renameFolder(name: string, to: string) {
    this.#mailbox.updateFolder(this.#folder(name), { displayName: to });
  }

  removeFolder(name: string) {
    this.#mailbox.deleteFolder(this.#folder(name));
  }

  async addEvent(subject: string, day: number, days = 1) {
    const time = (hour: number) => ({ dateTime: at(day, hour), timeZone: 'UTC' });
    const range = {
      type: 'numbered',
      startDate: at(day, 0).slice(0, 10),
      numberOfOccurrences: days,
    };
    const recurrence = { pattern: { type: 'daily', interval: 1 }, range };
    const body = { subject, start: time(9), end: time(10), ...(days > 1 && { recurrence }) };
    const { id } = await this.#graph('POST', 'events', body);
    this.#ids.set(subject, id as string);
  }

  async renameEvent(title: string, to: string) {
    await this.#graph('PATCH', `events/${this.#id(title)}`, { subject: to });
  }

  async removeEvent(title: string) {
    await this.#graph('DELETE', `events/${this.#id(title)}`);
  }

  async renameInstance(title: string, index: number, to: string) {
    await this.#graph('PATCH', `events/${await this.#instance(title, index)}`, { subject: to });
  }

  async removeInstance(title: string, index: number) {
    await this.#graph('DELETE', `events/${await this.#instance(title, index)}`);
  }

  async addContact(givenName: string) {
    const { id } = await this.#graph('POST', 'contacts', { givenName });
    this.#ids.set(givenName, id as string);
  }

  async renameContact(name: string, to: string) {
    await this.#graph('PATCH', `contacts/${this.#id(name)}`, { givenName: to });
  }

  async removeContact(name: string) {
    await this.#graph('DELETE', `contacts/${this.#id(name)}`);
  }

  #message(subject: string) {
    return found(
      [...this.#mailbox.messages()].find((one) => one.subject === subject),
      subject,
    );
  }

  #folder(name: string) {
    const all = [...this.#mailbox.folders.values()];
    return found(
      all.find(({ displayName }) => displayName === name),
      name,
    );
  }

  #id(title: string): string {
    return found(this.#ids.get(title), title);
  }

  async #instance(title: string, index: number): Promise<string> {
    const window = 'startDateTime=2030-03-01T00:00:00Z&endDateTime=2030-04-01T00:00:00Z';
    const path = `events/${this.#id(title)}/instances?${window}`;
    const { value } = await this.#graph('GET', path);
    return (value as { id: string }[])[index]!.id;
  }

  async #graph(method: string, path: string, body?: Json): Promise<Json> {
    const answer = await this.#client.send(method, `me/${path}`, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status}`);
    return answer.body;
  }
}
