import { Inject, Injectable } from '@nestjs/common';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { task } from '../../platform/threads/task.ts';
import { WorkLimitError } from '../../platform/threads/work-errors.ts';
import { WorkThreads } from '../../platform/threads/work-threads.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import type { Sql } from '../../platform/database/sql.ts';
import {
  type FoundMarks,
  markHtml,
  type MarksWanted,
  MOST_REPLACEMENTS,
  pixelTag,
} from './track-html.ts';
import { TRACKED_DAYS } from './tracked-message.ts';
import { TrackingTokens } from './tracking-tokens.ts';

/** Notifications that a sender wants about a message; absent fields are not wanted. */
export interface TrackingWish {
  opens?: boolean | undefined;
  links?: boolean | undefined;
  thread_replies?: boolean | undefined;
  payload?: string | undefined;
}

export interface TrackableMessage {
  accountId: string;
  /** Id that its mirrored copy will have. */
  messageId: string;
  /** With angle brackets. */
  messageIdHeader: string;
  sendAt: Date;
  html: string;
}

/** Tracking data to be stored with a message, by `Tracker.store`. */
export interface TrackingRecord {
  messageId: string;
  accountId: string;
  /** The other values of its row, or `null` if the message is not tracked (any more). */
  values: readonly unknown[] | null;
}

/** The HTML that is sent, with the tracking data to be stored. */
export interface MarkedMessage {
  html: string;
  record: TrackingRecord;
}

/**
 * UTF-16 units of HTML that are parsed on the main thread. The time is linear: usually 5 ms, at
 * most 35 ms.
 */
export const MOST_AT_ONCE = 64 * 1024;
const MB = 2 ** 20;
/**
 * A megabyte takes about 200 ms, and never more than 600 ms. The limit of 10 s is only for
 * unforeseen input.
 */
const FIND = task<typeof import('./track-html.ts')>()(
  import.meta.url,
  './track-html',
  'findMarks',
  {
    lane: 'short',
    timeMs: 10_000,
    inputBytes: 2 * MB,
    outputBytes: 2 * MB,
  },
);

export const OPENING_PATH = 't/o';
export const LINK_PATH = 't/c';
export const OPENING_QUERY = 'i';
export const LINK_QUERY = 'l';

// A conflict is an edit of a message that was not sent yet, so nothing can have been counted.
const STORE = `
  insert into tracked_message (message_id, account_id, message_id_header, opens, links, thread_replies, payload, urls,
                               counted_from, counted_until)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9::timestamptz, $9::timestamptz + interval '${TRACKED_DAYS} days')
  on conflict (message_id) do update set opens = excluded.opens, links = excluded.links,
    thread_replies = excluded.thread_replies, payload = excluded.payload, urls = excluded.urls,
    counted_from = excluded.counted_from, counted_until = excluded.counted_until`;
const FORGET = 'delete from tracked_message where message_id = $1 and account_id = $2';

/** Prepares messages for tracking, and shows senders the text they wrote. */
@Injectable()
export class Tracker {
  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly tokens: TrackingTokens,
    private readonly threads: WorkThreads,
  ) {}

  /**
   * Makes the HTML that is sent, and the data to be stored with the message. Writes nothing.
   * @throws {InvalidInputError} if parsing the HTML takes too much time or memory
   */
  async prepare(message: TrackableMessage, wish: TrackingWish): Promise<MarkedMessage> {
    const { accountId, messageId, messageIdHeader, sendAt } = message;
    const {
      opens = false,
      links = false,
      thread_replies: threadReplies = false,
      payload = null,
    } = wish;
    if (!opens && !links && !threadReplies)
      return { html: message.html, record: { messageId, accountId, values: null } };
    const { html, urls } =
      opens || links
        ? await markHtml(
            links ? this.#withoutLinks(message.html) : message.html,
            {
              pixel: opens ? this.#opening(messageId) : null,
              link: links ? (url, index) => this.#link(messageId, index, url) : null,
            },
            message.html.length > MOST_AT_ONCE
              ? (wanted) => this.#find(accountId, wanted)
              : undefined,
          )
        : { html: message.html, urls: [] };
    const values = [messageIdHeader, opens, links, threadReplies, payload, urls, sendAt];
    return { html, record: { messageId, accountId, values } };
  }

  /**
   * Stores tracking data, or deletes it if the message is not tracked any more. Call it in the
   * transaction that accepts the message or an edit of it.
   */
  async store(sql: Sql, { messageId, accountId, values }: TrackingRecord): Promise<void> {
    await sql.query(values ? STORE : FORGET, [messageId, accountId, ...(values ?? [])]);
  }

  /**
   * The HTML of a sent message without its marks. Reading the message here counts no opening, and
   * its links lead directly to their addresses.
   */
  withoutMarks(html: string): string {
    if (!html.includes(`/${OPENING_PATH}?`) && !html.includes(`/${LINK_PATH}?`)) return html;
    let images = 0;
    const unseen = html.replace(PIXELS, (image, token: string) => {
      images += 1;
      return images <= MOST_REPLACEMENTS && this.tokens.readOpening(token) ? '' : image;
    });
    return this.#withoutLinks(unseen);
  }

  async #find(accountId: string, wanted: MarksWanted): Promise<FoundMarks> {
    try {
      // Senders wait for a free thread; their number is bounded by their requests.
      return await this.threads.run(FIND, accountId, wanted, { patient: true });
    } catch (error) {
      if (!(error instanceof WorkLimitError) || error.limit === 'closed') throw error;
      throw new InvalidInputError(
        'body: the HTML takes too much time or memory to be tracked; send simpler HTML, or send it without tracking of opens and links',
      );
    }
  }

  /**
   * Replaces our links in forwarded or quoted text by their addresses, so that no link leads
   * through another.
   */
  #withoutLinks(html: string): string {
    let [text, done, seen] = ['', 0, 0];
    for (const { 0: mark, 1: token, index } of html.matchAll(LINKS)) {
      // No message that we marked has more links. Checking the signatures of hundreds of thousands
      // would take seconds.
      seen += 1;
      if (seen > MOST_REPLACEMENTS) break;
      const before = html.slice(Math.max(done, index - LONGEST_ADDRESS), index);
      const [address] = ADDRESS.exec(before) ?? [];
      const url = address === undefined ? undefined : this.tokens.readLink(token)?.url;
      if (address === undefined || url === undefined) continue;
      const shown = url.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll("'", '&#39;');
      text += html.slice(done, index - address.length) + shown;
      done = index + mark.length;
    }
    return text + html.slice(done);
  }

  #opening(messageId: string): string {
    return `${this.config.baseUrl}/${OPENING_PATH}?${OPENING_QUERY}=${this.tokens.opening(messageId)}`;
  }

  #link(messageId: string, index: number, url: string): string {
    const token = this.tokens.link({ messageId, index, url });
    return `${this.config.baseUrl}/${LINK_PATH}?${LINK_QUERY}=${token}`;
  }
}

/** UTF-16 units; more than a main address has. */
const LONGEST_ADDRESS = 512;
/** Matches any main address, because it may have changed since the marks were written. */
const IMAGE = pixelTag('ADDRESS').split('ADDRESS') as [string, string];
const PIXELS = new RegExp(
  `${IMAGE[0]}[^"<>\\s]{0,${LONGEST_ADDRESS}}/${OPENING_PATH}\\?${OPENING_QUERY}=([\\w-]{1,64})${IMAGE[1]}`,
  'g',
);
/**
 * Matches the end of a link; the address in front of it is searched for from there. A text made
 * only of beginnings of addresses therefore takes no longer than any other.
 */
const LINKS = new RegExp(`/${LINK_PATH}\\?${LINK_QUERY}=([\\w-]+)`, 'g');
const ADDRESS = /https?:\/\/[^"'<>\s?]*$/;
