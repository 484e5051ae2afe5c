import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { AccountPrincipal } from '../../../platform/auth/principal.ts';
import { allows, SCOPES_FOR } from '../../../platform/auth/scopes.ts';
import {
  type EventOfMessage,
  type EventSource,
  MessageEvents,
} from '../../../mail/message-events/message-events.ts';
import { EventReader } from '../event-reader.ts';
import { toEventView } from '../events.mapper.ts';

/** Shows events in the messages that they came with, to tokens that may read events. */
@Injectable()
export class EventsOfMessages implements EventSource, OnModuleInit {
  constructor(
    private readonly messages: MessageEvents,
    private readonly events: EventReader,
  ) {}

  onModuleInit(): void {
    this.messages.use(this);
  }

  async read(
    { accountId, scopes }: AccountPrincipal,
    ids: readonly string[],
  ): Promise<EventOfMessage[]> {
    if (!allows(scopes, SCOPES_FOR.readCalendar)) return [];
    return (await this.events.findListed(accountId, ids)).map((event) => toEventView(event));
  }
}
