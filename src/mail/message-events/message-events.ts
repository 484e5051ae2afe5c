import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { PageTooLargeError } from '../../platform/database/listing.ts';

/** An event as the endpoints of events show it. */
export type EventOfMessage = object & { id: string };

/** Reads events for messages. The calendar implements it. */
export interface EventSource {
  /**
   * Returns those of the events that the account has and lists, in no particular order. Returns
   * none, without a statement, if the token may not read events.
   * @throws {PageTooLargeError}
   */
  read(account: AccountPrincipal, ids: readonly string[]): Promise<EventOfMessage[]>;
}

/** The ids of the events that came with a message, as they are stored with it. */
export interface HasEventIds {
  eventIds: readonly string[] | null;
}

/** Adds events to messages. The calendar registers itself as their source when it starts. */
@Injectable()
export class MessageEvents {
  #source: EventSource | undefined;

  use(source: EventSource): void {
    this.#source = source;
  }

  /**
   * Adds to each message the events that came with it. Reads the events of all messages with one
   * statement, and with none if the messages have no events.
   * @param isOneItem true if the messages belong to one item of the response. Events that are too
   *   large are then left out, because the client cannot request less than one item.
   * @throws {PageTooLargeError} if the events of several items are too large together
   */
  async addTo<M extends HasEventIds>(
    account: AccountPrincipal,
    messages: readonly M[],
    { isOneItem }: { isOneItem: boolean },
  ): Promise<(M & { events: EventOfMessage[] })[]> {
    const wanted = [...new Set(messages.flatMap(({ eventIds }) => eventIds ?? []))];
    const found = wanted.length === 0 ? [] : await this.#read(account, wanted, isOneItem);
    const byId = new Map(found.map((event) => [event.id, event]));
    return messages.map((message) =>
      Object.assign(message, {
        events: (message.eventIds ?? []).flatMap((id) => byId.get(id) ?? []),
      }),
    );
  }

  async #read(
    account: AccountPrincipal,
    ids: readonly string[],
    isOneItem: boolean,
  ): Promise<EventOfMessage[]> {
    try {
      return (await this.#source?.read(account, ids)) ?? [];
    } catch (error) {
      if (!(error instanceof PageTooLargeError) || !isOneItem) throw error;
      return this.#read(account, ids.slice(0, Math.ceil(ids.length / 2)), isOneItem);
    }
  }
}
