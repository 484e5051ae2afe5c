import { randomUUID } from 'node:crypto';
import { ProviderError } from '../../../src/platform/base/errors/provider-error.ts';
import type { ProviderAccount, RemoteEvent } from '../../../src/providers/port/connector.ts';
import { allEventChanges } from '../calendar-contract.ts';
import { allContactChanges } from '../contacts-contract.ts';
import type { AccountSteps } from './account-steps.ts';
import { type CollectionProvider, eventOf } from './collection-provider.ts';
import type { Dice } from './dice.ts';

const HOUR = 3600;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;
/** Monday 11 March 2030, 09:00 in Berlin. */
const BEGIN = 1_899_446_400;
const OCCURRENCES = 6;

type Step = () => Promise<unknown>;

/**
 * Changes calendars and contacts at random, as another program and through the API. The other
 * program uses the connector's own requests.
 */
export class CollectionWalk {
  /** All events are between these times, in Unix seconds. */
  static readonly FROM = BEGIN - WEEK;
  static readonly UNTIL = BEGIN + 20 * WEEK;
  readonly log: string[] = [];
  #made = 0;

  constructor(
    private readonly steps: AccountSteps,
    private readonly provider: CollectionProvider,
    private readonly remote: ProviderAccount,
    private readonly dice: Dice,
    private readonly pass: () => Promise<void>,
  ) {}

  async run(steps: number): Promise<void> {
    for (let n = 0; n < 6; n += 1) await this.#create();
    for (let n = 0; n < 4; n += 1) await this.#addContact();
    for (let n = 0; n < steps; n += 1) await this.dice.pick(this.#all())?.();
  }

  #all(): Step[] {
    const pass: Step = async () => {
      this.log.push('pass');
      if (this.provider.writesFirst) await this.steps.write();
      await this.pass();
    };
    return [
      () => this.#create(),
      () => this.#change(),
      () => this.#changeInstance(),
      () => this.#changeInstance(),
      () => this.#removeInstance(),
      () => this.#remove(),
      () => this.#addContact(),
      () => this.#changeContact(),
      () => this.#removeContact(),
      () => this.#apiCreate(),
      () => this.#apiChange(),
      () => this.#apiChange(),
      () => this.#apiRemove(),
      () => this.#apiContact(),
      () => this.#forget(),
      pass,
      pass,
      pass,
      () => this.steps.write(),
    ];
  }

  #mark(): string {
    this.#made += 1;
    return `Made ${this.#made}`;
  }

  /** A time that no summer time moves. */
  #time(): number {
    return BEGIN + this.dice.below(14) * DAY + this.dice.below(8) * HOUR;
  }

  /** The other program may come too late, or ask for what is not possible. */
  async #try(what: string, work: Promise<unknown>): Promise<void> {
    this.log.push(what);
    try {
      await work;
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      this.log.push(`  ${error.message}`);
    }
  }

  async #calendarId(): Promise<string> {
    const [calendar] = await this.provider.calendar.listCalendars(this.remote);
    return calendar!.providerId;
  }

  async #events(): Promise<RemoteEvent[]> {
    const { calendar } = this.provider;
    return (await allEventChanges(calendar, this.remote, await this.#calendarId())).events;
  }

  async #create(): Promise<void> {
    const rule = this.dice.oneIn(2) ? `FREQ=WEEKLY;COUNT=${OCCURRENCES}` : undefined;
    const event = eventOf(this.#mark(), this.#time(), rule);
    const { calendar } = this.provider;
    const work = calendar.createEvent(this.remote, await this.#calendarId(), randomUUID(), event);
    await this.#try(`create ${event.title}${rule ? ', a series' : ''}`, work);
  }

  async #change(): Promise<void> {
    const event = this.dice.pick(
      (await this.#events()).filter(({ masterProviderId }) => !masterProviderId),
    );
    if (!event) return;
    const content = { ...event.content, title: this.#mark() };
    const work = this.provider.calendar.updateEvent(this.remote, event.providerId, content);
    await this.#try(`change ${event.content.title} to ${content.title}`, work);
  }

  async #instance() {
    const series = this.dice.pick(
      (await this.#events()).filter(({ content }) => content.recurrence),
    );
    const when = series?.content.when as { start_time: number } | undefined;
    if (!series || !when) return undefined;
    const at = when.start_time + this.dice.below(OCCURRENCES) * WEEK;
    // Berlin has summer time from 31 March 2030.
    const summer = at >= 1_901_149_200 && when.start_time < 1_901_149_200 ? HOUR : 0;
    const moment = new Date((at - summer) * 1000);
    const start = moment.toISOString().replaceAll(/[-:]|\.\d+/g, '');
    return { series, at: at - summer, position: { series: series.providerId, start } };
  }

  async #changeInstance(): Promise<void> {
    const one = await this.#instance();
    if (!one) return;
    const { series, at, position } = one;
    const event = eventOf(this.#mark(), at + this.dice.below(5) * HOUR);
    const work = this.provider.calendar.writeInstance(this.remote, position, event);
    await this.#try(`change ${position.start} of ${series.content.title} to ${event.title}`, work);
  }

  async #removeInstance(): Promise<void> {
    const one = await this.#instance();
    if (!one) return;
    const { series, position } = one;
    const work = this.provider.calendar.deleteInstance(this.remote, position);
    await this.#try(`remove ${position.start} of ${series.content.title}`, work);
  }

  async #remove(): Promise<void> {
    const events = await this.#events();
    const event = this.dice.pick(events.filter(({ masterProviderId }) => !masterProviderId));
    if (!event || events.length < 4) return;
    const work = this.provider.calendar.deleteEvent(this.remote, event.providerId);
    await this.#try(`remove ${event.content.title}`, work);
  }

  #card(name: string) {
    const emails = [{ type: 'work', email: `${name.replace(' ', '-')}@example.test` }];
    return { given_name: name, surname: 'Test', emails };
  }

  async #addContact(): Promise<void> {
    const card = this.#card(this.#mark());
    const work = this.provider.contacts.createContact(this.remote, randomUUID(), card);
    await this.#try(`contact ${card.given_name}`, work);
  }

  async #contact() {
    return this.dice.pick((await allContactChanges(this.provider.contacts, this.remote)).contacts);
  }

  async #changeContact(): Promise<void> {
    const contact = await this.#contact();
    if (!contact) return;
    const { contacts } = this.provider;
    const card = { ...contact.content, given_name: this.#mark() };
    const work = contacts.updateContact(this.remote, contact.providerId, card);
    await this.#try(`contact ${contact.content.given_name} is ${card.given_name}`, work);
  }

  async #removeContact(): Promise<void> {
    const contact = await this.#contact();
    if (!contact) return;
    const work = this.provider.contacts.deleteContact(this.remote, contact.providerId);
    await this.#try(`no contact ${contact.content.given_name}`, work);
  }

  async #forget(): Promise<void> {
    this.log.push('forget changes');
    this.provider.forgetChanges(this.remote);
  }

  /** A request may be refused, because something has changed. It must not fail. */
  async #api(method: 'post' | 'put' | 'delete', path: string, body?: object): Promise<void> {
    const { status } = await this.steps.call(method, path, body);
    this.log.push(`${method} ${path} ${JSON.stringify(body)}: ${status}`);
    if (status >= 500) throw new Error(`${method} ${path}: ${status}`);
  }

  async #mirrored(path: string): Promise<{ id: string } | undefined> {
    const all: { id: string; title?: string; given_name?: string }[] = await this.steps.api(
      'get',
      `${path}?limit=500`,
    );
    const nameOf = ({ title, given_name: name, id }: (typeof all)[number]) => title ?? name ?? id;
    return this.dice.pick(all.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1)));
  }

  async #apiCreate(): Promise<void> {
    const [calendar] = await this.steps.api('get', '/calendars');
    if (!calendar) return;
    const rule = this.dice.oneIn(2) ? `FREQ=WEEKLY;COUNT=${OCCURRENCES}` : undefined;
    const event = eventOf(this.#mark(), this.#time(), rule);
    await this.#api('post', '/events', { calendar_id: calendar.id, ...event });
  }

  async #apiChange(): Promise<void> {
    const event = await this.#mirrored('/events');
    if (event) await this.#api('put', `/events/${event.id}`, { title: this.#mark() });
  }

  async #apiRemove(): Promise<void> {
    const event = await this.#mirrored('/events');
    if (event) await this.#api('delete', `/events/${event.id}`);
  }

  async #apiContact(): Promise<void> {
    const card = this.#card(this.#mark());
    const contact = await this.#mirrored('/contacts');
    if (!contact || this.dice.oneIn(2)) return this.#api('post', '/contacts', card);
    return this.dice.oneIn(2)
      ? this.#api('put', `/contacts/${contact.id}`, { given_name: card.given_name })
      : this.#api('delete', `/contacts/${contact.id}`);
  }
}
