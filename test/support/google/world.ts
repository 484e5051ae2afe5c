import { Calendars } from './calendar/calendars.ts';
import { GoogleUser } from './google-user.ts';
import { GoogleHabits } from './habits.ts';
import type { Identity } from './oauth/google-oauth.ts';
import { PubSub } from './pubsub/pubsub.ts';
import { GoogleQuotas } from './quotas.ts';

/** A message to addresses that belong to no person of the stub. */
export interface OutgoingMail {
  from: string;
  to: string[];
  /** Without Bcc. */
  raw: Buffer;
}

/** Everything at Google: people, and what passes between them. */
export class GoogleWorld {
  readonly users = new Map<string, GoogleUser>();
  /** Mail that left Google. */
  readonly outgoing: OutgoingMail[] = [];
  readonly pubsub: PubSub;
  readonly calendars: Calendars;
  readonly habits = new GoogleHabits();
  readonly quotas: GoogleQuotas;
  /** For each Message-ID that Gmail has assigned: the one that the client had given. */
  readonly replacedIds = new Map<string, string>();
  /** Milliseconds of the stub's clock. */
  readonly now: () => number;
  /** Address of the stub. */
  readonly origin: () => string;
  #ids = 0;

  constructor(now: () => number, origin: () => string, pubsub: PubSub) {
    this.now = now;
    this.origin = origin;
    this.pubsub = pubsub;
    this.calendars = new Calendars(now);
    this.quotas = new GoogleQuotas(now, this.habits);
  }

  /** @param timeZone of the person's primary calendar */
  addUser(email: string, name = email.replace(/@.*/, ''), timeZone = 'Europe/Berlin'): GoogleUser {
    const user = new GoogleUser(this, email, name);
    this.users.set(user.email, user);
    this.calendars.addPrimary(user.email, timeZone);
    return user;
  }

  /** The person with an address, also with one of its aliases. */
  userAt(address: string): GoogleUser | null {
    return [...this.users.values()].find((user) => user.hasAddress(address)) ?? null;
  }

  identity(email: string): Identity | null {
    return this.users.get(email.toLowerCase()) ?? null;
  }

  firstIdentity(): Identity | null {
    return this.users.values().next().value ?? null;
  }

  /** A number that was not given before. */
  readonly nextId = (): number => {
    this.#ids += 1;
    return this.#ids;
  };

  /** Publishes a change of a mailbox if somebody watches it. */
  announceMail(
    { watch, email }: GoogleUser,
    historyId: number,
    labelIds: ReadonlySet<string>,
  ): void {
    if (!watch || watch.expiresAt <= this.now()) return;
    const isListed = watch.labelIds.some((id) => labelIds.has(id));
    if (watch.labelIds.length > 0 && isListed !== watch.isInclude) return;
    this.pubsub.publish(watch.topicName, { emailAddress: email, historyId });
  }
}
