import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import type { ConferencingProvider } from '../../src/providers/port/conferencing-port.ts';
import type {
  CalendarContent,
  CalendarPort,
  EventChanges,
  EventContent,
  EventResponse,
  EventUpdateOptions,
  EventWriteOptions,
  FreeBusyRequest,
  InstancePosition,
  NotifyOption,
  ParticipantMail,
  PersonBusy,
  ProviderAccount,
  RemoteRoom,
  TimeRange,
} from '../../src/providers/port/connector.ts';
import { login } from '../../src/providers/sandbox/sandbox.settings.ts';
import {
  BLANK,
  excludedInstance,
  type HostedTraits,
  type ProviderMail,
  timeOf,
  hashed,
  instanceId,
  merge,
  participantsOf,
  remoteEvent,
  startOf,
  type StoredObject,
  titleOf,
  withMeeting,
} from './hosted-events.ts';

const gone = (what: string) => new ProviderError('not-found', `404 The ${what} does not exist`);

/**
 * Calendars of a provider that hosts them for organizations, in memory. They report each change on
 * its own (`EventChanges.partial`) and excluded starts as objects. Depending on the traits they
 * also mail participants and make meetings. Tests act as another client of the same calendars with
 * `put`, `remove`, `exclude` and `move`.
 */
export class HostedCalendars implements CalendarPort {
  readonly mailsParticipants: ParticipantMail;
  readonly conferencing: readonly ConferencingProvider[];
  readonly mails: ProviderMail[] = [];
  readonly answers: (EventResponse & { providerId: string })[] = [];
  /** Busy times of people without an account. */
  readonly people = new Map<string, readonly TimeRange[]>();
  roomList: RemoteRoom[] = [];
  /** Called by `freeBusy` before it answers. */
  beforeFreeBusy: () => Promise<void> = async () => {};
  /** The requests of `freeBusy`. */
  readonly asked: FreeBusyRequest[] = [];
  /** The error of the next write. */
  fault: ProviderError | null = null;

  #gate: (() => Promise<void>) | null = null;
  readonly #pendingMeetings: boolean;
  readonly #calendars = new Map<string, { owner: string; primary: boolean } & CalendarContent>();
  readonly #objects = new Map<string, StoredObject>();
  #changes = 0;
  /** Cursors begin with this number. */
  #listing = 0;

  constructor({
    mailsParticipants = 'never',
    conferencing = [],
    pendingMeetings = false,
  }: HostedTraits = {}) {
    this.mailsParticipants = mailsParticipants;
    this.conferencing = conferencing;
    this.#pendingMeetings = pendingMeetings;
  }

  async listCalendars(account: ProviderAccount) {
    login(account);
    const own = hashed('primary', account.email);
    const blank = { description: null, location: null, timezone: null };
    const primary = { owner: account.email, primary: true, name: account.email, ...blank };
    if (!this.#calendars.has(own)) this.#calendars.set(own, primary);
    return [...this.#calendars]
      .filter(([, { owner }]) => owner === account.email)
      .map(([providerId, one]) => {
        const { owner: _, primary: isPrimary, ...calendar } = one;
        return { ...calendar, providerId, isPrimary, readOnly: false };
      });
  }

  async createCalendar(account: ProviderAccount, key: string, calendar: CalendarContent) {
    login(account);
    const providerId = hashed('calendar', account.email, key);
    this.#calendars.set(providerId, { owner: account.email, primary: false, ...calendar });
    return { providerId };
  }

  async updateCalendar(account: ProviderAccount, providerId: string, calendar: CalendarContent) {
    Object.assign(this.#calendar(account, providerId), calendar);
  }

  async deleteCalendar(account: ProviderAccount, providerId: string) {
    if (this.#calendars.get(providerId)?.owner === account.email)
      this.#calendars.delete(providerId);
  }

  async listEventChanges(
    account: ProviderAccount,
    calendar: string,
    cursor: string | null,
    limit: number,
  ): Promise<EventChanges> {
    this.#calendar(account, calendar);
    const [listing, position] = cursor?.split(':') ?? [];
    const since = listing === String(this.#listing) ? Number(position) : null;
    const all = [...this.#objects.values()].filter((one) => one.calendar === calendar);
    const changed = all
      .filter((one) => one.changed > (since ?? 0) && (since !== null || !one.deleted))
      .toSorted((a, b) => a.changed - b.changed);
    const page = changed.slice(0, limit);
    const there = page.filter(({ deleted }) => !deleted);
    return {
      cursor: `${this.#listing}:${page.at(-1)?.changed ?? since ?? 0}`,
      more: changed.length > page.length,
      partial: true,
      events: there.flatMap((one) => (one.content ? [remoteEvent(one, one.content)] : [])),
      excluded: there.filter(({ content }) => !content).map(excludedInstance),
      removed: page.filter(({ deleted }) => deleted).map(({ providerId }) => providerId),
      present:
        since === null
          ? all.filter(({ deleted }) => !deleted).map(({ providerId }) => providerId)
          : null,
    };
  }

  async createEvent(
    account: ProviderAccount,
    calendar: string,
    key: string,
    event: EventContent,
    options: EventWriteOptions = {},
  ) {
    this.#calendar(account, calendar);
    await this.#begin();
    const providerId = hashed('event', account.email, key);
    const known = this.#objects.get(providerId);
    const fields = { calendar, organizer: account.email, sequence: options.sequence ?? 0 };
    const meeting = this.#meeting(providerId, options);
    const content = withMeeting(event, meeting, options);
    const made = this.#put({ providerId, ...known, ...fields, content, deleted: false });
    if (!known || known.deleted) this.#mail(account, 'invite', null, made, options);
    return { providerId, icalUid: made.icalUid, ...meeting };
  }

  async updateEvent(
    account: ProviderAccount,
    providerId: string,
    event: EventContent,
    options: EventUpdateOptions = {},
  ) {
    await this.#begin();
    const known = this.#own(account, providerId);
    const meeting = this.#meeting(providerId, options);
    const merged = merge(known.content ?? BLANK, event, options.base ?? null);
    const content = withMeeting(merged, meeting, options);
    if (!isDeepStrictEqual(content, known.content)) {
      const sequence = Math.max(known.sequence, options.sequence ?? 0);
      this.#mail(account, 'update', known, this.#put({ ...known, content, sequence }), options);
    }
    return meeting;
  }

  async deleteEvent(account: ProviderAccount, providerId: string, options: NotifyOption = {}) {
    await this.#begin();
    const known = this.#objects.get(providerId);
    if (!known || known.deleted || !this.#owns(account, known)) return;
    this.#end(known);
    this.#mail(account, 'cancel', known, known, options);
  }

  async writeInstance(
    account: ProviderAccount,
    { series, start: stamp }: InstancePosition,
    event: EventContent,
    options: EventUpdateOptions = {},
  ) {
    await this.#begin();
    const master = this.#own(account, series);
    const start = startOf(stamp);
    const providerId = instanceId(series, start);
    const known = this.#objects.get(providerId);
    if (known && !known.deleted && !known.content)
      throw new ProviderError('conflict', '409 The instance was deleted');
    const { calendar, icalUid, organizer } = master;
    const before = known?.deleted === false ? known.content : null;
    const base = options.base ?? null;
    const plain = { ...master.content, ...base, recurrence: null };
    const content = merge(before ?? plain, event, base);
    const place = { providerId, calendar, icalUid, organizer, master: series, start };
    const sequence = options.sequence ?? 0;
    const made = this.#put({ ...known, ...place, content, sequence, deleted: false });
    if (!isDeepStrictEqual(content, before))
      this.#mail(account, 'update', known ?? master, made, options);
    return { providerId, icalUid };
  }

  async deleteInstance(
    account: ProviderAccount,
    { series, start: stamp }: InstancePosition,
    options: NotifyOption = {},
  ) {
    await this.#begin();
    const master = this.#objects.get(series);
    if (!master || master.deleted || !this.#owns(account, master)) return;
    const providerId = instanceId(series, startOf(stamp));
    const known = this.#objects.get(providerId);
    if (known && !known.deleted && !known.content) return;
    this.exclude(series, startOf(stamp));
    this.#mail(account, 'cancel', master, master, options);
  }

  async resetInstance(_account: ProviderAccount, providerId: string) {
    const known = this.#objects.get(providerId);
    if (known && known.master !== null && !known.deleted) this.#put({ ...known, deleted: true });
  }

  async respond(account: ProviderAccount, providerId: string, response: EventResponse) {
    await this.#begin();
    const known = this.#own(account, providerId);
    const participants = (known.content?.['participants'] ?? []) as { email: string }[];
    if (!participants.some(({ email }) => email === account.email))
      throw new ProviderError('rejected', '400 The account is not invited');
    this.answers.push({ ...response, providerId });
    if (response.notify)
      this.mails.push({ kind: 'answer', title: titleOf(known), to: [known.organizer] });
    const answered = participants.map((one) =>
      one.email === account.email ? { ...one, status: response.status } : one,
    );
    this.#put({ ...known, content: { ...known.content, participants: answered } });
  }

  async freeBusy(_account: ProviderAccount, request: FreeBusyRequest): Promise<PersonBusy[]> {
    this.asked.push(request);
    await this.beforeFreeBusy();
    return request.emails.map((email) => {
      const busy = this.people.get(email) ?? this.#busyOf(email);
      return busy ? { email, busy } : { email, unknown: 'no such user' };
    });
  }

  async rooms(account: ProviderAccount) {
    login(account);
    return this.roomList;
  }

  /** Another client creates or changes an event. Without a `providerId` it is a new one. */
  put(
    event: Partial<StoredObject> & Pick<StoredObject, 'calendar'> & { content: EventContent },
  ): StoredObject {
    const known = this.#objects.get(event.providerId ?? '');
    return this.#put({
      providerId: randomUUID(),
      ...known,
      ...event,
      content: { ...BLANK, ...known?.content, ...event.content },
    });
  }

  /** Another client changes one instance of a series. */
  putInstance(series: string, start: number, content: EventContent): StoredObject {
    const master = this.#objects.get(series);
    const { calendar = '', icalUid = `${series}@hosted.test`, organizer = '' } = master ?? {};
    const providerId = instanceId(series, start);
    const known = this.#objects.get(providerId);
    const plain =
      known?.deleted === false && known.content ? {} : { ...master?.content, recurrence: null };
    const place = { providerId, calendar, icalUid, organizer, master: series, start };
    return this.put({ ...place, deleted: false, content: { ...plain, ...content } });
  }

  /** Another client deletes an event, or resets an instance. */
  remove(providerId: string): void {
    const known = this.#objects.get(providerId);
    if (known) this.#end(known);
  }

  /** Another client deletes one instance of a series. */
  exclude(series: string, start: number, calendar?: string): StoredObject {
    const master = this.#objects.get(series);
    const providerId = instanceId(series, start);
    return this.#put({
      providerId,
      calendar: calendar ?? master?.calendar ?? '',
      icalUid: master?.icalUid ?? '',
      organizer: master?.organizer ?? '',
      master: series,
      start,
      content: null,
      deleted: false,
    });
  }

  /** Another client moves an event to another calendar. It keeps its id. */
  move(providerId: string, calendar: string): void {
    for (const one of this.#objects.values())
      if (one.providerId === providerId || one.master === providerId)
        this.#put({ ...one, calendar });
  }

  /** All cursors become unknown, so that everything is listed again. Deletions are forgotten. */
  forgetHistory(): void {
    this.#listing += 1;
    for (const [id, { deleted }] of this.#objects) if (deleted) this.#objects.delete(id);
  }

  object(providerId: string): StoredObject | undefined {
    return this.#objects.get(providerId);
  }

  /** The object that was made last. */
  latest(): StoredObject | undefined {
    return [...this.#objects.values()].toSorted((a, b) => b.changed - a.changed)[0];
  }

  #put(one: Partial<StoredObject> & Pick<StoredObject, 'providerId' | 'calendar'>): StoredObject {
    const uid = `${one.master ?? one.providerId}@hosted.test`;
    const blank = {
      icalUid: uid,
      master: null,
      start: null,
      content: null,
      organizer: '',
      sequence: 0,
      deleted: false,
    };
    const stored = { ...blank, ...one, changed: ++this.#changes };
    this.#objects.set(stored.providerId, stored);
    return stored;
  }

  /** Deletes an event; of a deleted series the instances are not reported on their own. */
  #end(known: StoredObject): void {
    this.#put({ ...known, deleted: true });
    for (const [id, { master }] of this.#objects)
      if (master === known.providerId) this.#objects.delete(id);
  }

  #meeting(providerId: string, { meeting }: EventWriteOptions) {
    if (!meeting) return {};
    const url = `https://meet.hosted.test/${hashed(providerId, meeting.key)}`;
    return { meeting: this.#pendingMeetings ? ('pending' as const) : { url } };
  }

  /** Completes the meeting of an event that was answered as pending. */
  finishMeeting(providerId: string, provider: ConferencingProvider): string {
    const known = this.#objects.get(providerId);
    const url = `https://meet.hosted.test/${hashed(providerId, 'pending')}`;
    if (known)
      this.#put({
        ...known,
        content: { ...known.content, conferencing: { provider, details: { url } } },
      });
    return url;
  }

  #mail(
    { email: own }: ProviderAccount,
    kind: ProviderMail['kind'],
    before: StoredObject | null,
    after: StoredObject,
    { notify = false }: NotifyOption,
  ): void {
    const mails = { never: false, 'on-request': notify, always: true }[this.mailsParticipants];
    const to = [
      ...new Set([before, after].flatMap((one) => (one ? participantsOf(one) : []))),
    ].filter((email) => email !== own);
    if (mails && to.length > 0) this.mails.push({ kind, title: titleOf(after), to });
  }

  /** Makes the next write wait. `reached` resolves when it has begun, `open` lets it go on. */
  holdWrites(): { reached: Promise<void>; open(): void } {
    const reached = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    this.#gate = () => {
      this.#gate = null;
      reached.resolve();
      return gate.promise;
    };
    return { reached: reached.promise, open: gate.resolve };
  }

  /** Times of the single events in the calendars of an account; `undefined` if it has none. */
  #busyOf(owner: string): TimeRange[] | undefined {
    const own = [...this.#calendars].filter(([, one]) => one.owner === owner).map(([id]) => id);
    if (own.length === 0) return undefined;
    return [...this.#objects.values()]
      .filter(({ calendar, deleted }) => own.includes(calendar) && !deleted)
      .flatMap(timeOf);
  }

  async #begin(): Promise<void> {
    await this.#gate?.();
    const { fault } = this;
    this.fault = null;
    if (fault) throw fault;
  }

  #owns({ email }: ProviderAccount, { calendar }: StoredObject): boolean {
    return this.#calendars.get(calendar)?.owner === email;
  }

  #own(account: ProviderAccount, providerId: string): StoredObject {
    login(account);
    const known = this.#objects.get(providerId);
    if (!known || known.deleted || !this.#owns(account, known)) throw gone('event');
    return known;
  }

  #calendar(account: ProviderAccount, providerId: string) {
    login(account);
    const calendar = this.#calendars.get(providerId);
    if (calendar?.owner !== account.email) throw gone('calendar');
    return calendar;
  }
}
