import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { AccountPrincipal } from '../../../platform/auth/principal.ts';
import { allows, SCOPES_FOR } from '../../../platform/auth/scopes.ts';
import {
  type EventOfMessage,
  type EventSource,
  MessageEvents,
} from '../../../mail/message-events/message-events.ts';
import { EventReader } from '../event-reader.ts';
import { EventViews } from '../event-views.ts';

/** Shows events in the messages that they came with, to tokens that may read events. */
@Injectable()
export class EventsOfMessages implements EventSource, OnModuleInit {
  constructor(
    private readonly messages: MessageEvents,
    private readonly events: EventReader,
    private readonly views: EventViews,
  ) {}

  onModuleInit(): void {
    this.messages.use(this);
  }

  async read(
    { accountId, scopes }: AccountPrincipal,
    ids: readonly string[],
  ): Promise<EventOfMessage[]> {
    if (!allows(scopes, SCOPES_FOR.readCalendar)) return [];
    return this.views.ofAll(accountId, await this.events.findListed(accountId, ids));
  }
}
