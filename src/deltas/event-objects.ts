import { Injectable, type OnModuleInit } from '@nestjs/common';
import { accountPrincipal } from '../accounts/grants/credentials/stored-credentials.ts';
import type { AccountPrincipal } from '../platform/auth/principal.ts';
import { DELTA_TYPES, type DeltaType, mayRead } from '../platform/changes/delta-types.ts';
import { PageTooLargeError } from '../platform/database/listing.ts';
import { ObjectDamagedError } from '../platform/objects/object-errors.ts';
import { Database } from '../platform/database/sql.ts';
import {
  EventContents,
  type EventObject,
  MOST_BYTES,
} from '../platform/webhooks/contents/event-contents.ts';
import { type Attributes, ChangedObjects } from './changed-objects.ts';

/** Fields of a summary, by kind of object. */
export const SUMMARY_FIELDS = {
  message: ['subject', 'from', 'to', 'date', 'snippet', 'unread', 'starred', 'thread_id'],
  draft: ['subject', 'to', 'date', 'snippet', 'thread_id', 'version'],
  thread: ['subject', 'snippet', 'last_message_timestamp', 'unread', 'starred', 'has_attachments'],
  folder: ['name', 'display_name'],
  label: ['name', 'display_name'],
  file: ['filename', 'content_type', 'size'],
  calendar: ['name', 'timezone', 'read_only'],
  event: ['calendar_id', 'title', 'when', 'status', 'busy', 'location'],
  contact: ['given_name', 'surname', 'emails', 'company_name'],
} as const satisfies Record<DeltaType, readonly string[]>;

/** Characters of a text, and items of a list, that a summary shows. */
const MOST_TEXT = 200;
const MOST_ITEMS = 5;

/** Reads the objects of webhook events for webhooks that want more than ids. */
@Injectable()
export class EventObjects implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly objects: ChangedObjects,
    private readonly contents: EventContents,
  ) {}

  onModuleInit(): void {
    this.contents.register((accountId, object, ids) => this.read(accountId, object, ids));
  }

  /**
   * Objects that exist and that the scopes of the account allow to read, by id. None of a kind that
   * has no endpoint, such as `account`.
   */
  async read(
    accountId: string,
    object: string,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, EventObject>> {
    const type = DELTA_TYPES.find((one) => one === object);
    const account = type && (await accountPrincipal(this.database, accountId));
    if (!account || !mayRead(account.scopes, type)) return new Map();
    return new Map(await this.#read(account, type, ids));
  }

  /**
   * Halves a page that is too large, or has an object that is damaged; one object is never too
   * large, and a damaged one is left out. Of the halves, only objects that fit into a delivery are
   * kept in memory, and of the others the summaries.
   */
  async #read(
    account: AccountPrincipal,
    type: DeltaType,
    ids: readonly string[],
    isPart = false,
  ): Promise<[string, EventObject][]> {
    try {
      const found = await this.objects.read(account, type, ids);
      return [...found.values()].map((attributes) => eventObject(type, attributes, isPart));
    } catch (error) {
      const isDamaged = error instanceof ObjectDamagedError;
      if (isDamaged && ids.length === 1) return [];
      if ((!isDamaged && !(error instanceof PageTooLargeError)) || ids.length < 2) throw error;
      const half = Math.ceil(ids.length / 2);
      return [
        ...(await this.#read(account, type, ids.slice(0, half), true)),
        ...(await this.#read(account, type, ids.slice(half), true)),
      ];
    }
  }
}

function eventObject(
  type: DeltaType,
  attributes: Attributes,
  mayBeLarge: boolean,
): [string, EventObject] {
  const full = { ...attributes };
  const fits = !mayBeLarge || JSON.stringify(full).length <= MOST_BYTES;
  return [attributes.id, { full: fits ? full : null, summary: summaryOf(type, full) }];
}

function summaryOf(type: DeltaType, full: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    SUMMARY_FIELDS[type].flatMap((key) => (key in full ? [[key, shortened(full[key])]] : [])),
  );
}

function shortened(value: unknown): unknown {
  if (typeof value === 'string') return value.slice(0, MOST_TEXT).toWellFormed();
  return Array.isArray(value) ? value.slice(0, MOST_ITEMS) : value;
}
