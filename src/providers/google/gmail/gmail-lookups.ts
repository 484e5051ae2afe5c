import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import { MARK_HEADER, markDigest, type MarkKind } from '../../../formats/mime/message-mark.ts';
import { fieldsOfMessage, recipientsOf, subjectOf } from '../../../formats/mime/message-header.ts';
import type { Clock } from '../../../platform/base/time/clock.ts';
import type { ProviderAccount, SentLookup, SentTraces } from '../../port/connector.ts';
import { isLike } from '../../port/mail/sent-lookup.ts';
import { nullIfGone } from '../../rest/gone.ts';
import type { GmailDraft, GmailMetadata, GmailReader } from './gmail-api.ts';
import { dateOf } from './gmail-content.ts';
import type { GoogleCost } from '../google-api.ts';

/** Messages that are compared at most, of each list. */
const COMPARED = 20;
/** Pages that are requested at most, of each list. */
const MOST_PAGES = 5;
/** Messages that are read at the same time. */
const AT_ONCE = 5;
/** Drafts that are compared at most. */
const COMPARED_DRAFTS = 5;
/** How far back Sent is compared if the caller does not know when the message may have left. */
const USUAL_MS = 30 * 60_000;
/** How much Gmail's clock may differ from ours. */
const SKEW_MS = 5 * 60_000;
const FOUND: SentLookup = { found: true, conclusive: true };
/** Headers by which a message is compared. */
const COMPARED_HEADERS = ['Message-ID', MARK_HEADER, 'To', 'Cc', 'Bcc', 'Subject'];

/** What was seen of the messages that may be the one that is looked up. */
interface Seen {
  found: boolean;
  /** Whether a message bears a mark from sending, so that Gmail keeps marks. */
  keepsMarks: boolean;
  similar: boolean;
  /** Whether every message since then was compared. */
  isWhole: boolean;
}

/**
 * Finds messages that Carillon has sent, filed or saved, although Gmail may have replaced their
 * Message-ID.
 */
export class GmailLookups {
  constructor(
    private readonly gmail: GmailReader,
    private readonly clock: Clock,
  ) {}

  /**
   * See `MailPort.findSent`. Gmail cannot search for the mark, and its search may lag behind: the
   * newest messages of Sent are compared, and those of its search for the recipients.
   */
  async findSent(
    account: ProviderAccount,
    messageIdHeader: string,
    traces?: SentTraces,
  ): Promise<SentLookup> {
    const search = await this.#list(account, withHeader(messageIdHeader));
    if (search.ids.length > 0) return FOUND;
    const wanted = new Wanted(
      ['send', 'copy'],
      messageIdHeader,
      traces ?? null,
      this.#since(traces),
    );
    const seen = await this.#compare(account, wanted);
    if (seen.found) return FOUND;
    const isUnclear = seen.similar && !seen.keepsMarks;
    return {
      found: false,
      conclusive: search.isWhole && seen.isWhole && !isUnclear,
      ...(isUnclear ? { similar: true } : {}),
    };
  }

  /** Whether Sent has the copy of a message that a mailing service has sent, or one like it. */
  async isFiled(account: ProviderAccount, messageIdHeader: string, mime: Buffer): Promise<boolean> {
    const fields = fieldsOfMessage(mime);
    // Gmail takes the copy's Date for the time of its receipt.
    const written = dateIn(fields) ?? this.clock.now();
    const traces = { recipients: recipientsOf(fields), subject: subjectOf(fields), since: written };
    const { found, similar = false } = await this.findSent(account, messageIdHeader, traces);
    return found || similar;
  }

  /** The draft of an earlier request whose response was lost; `undefined` if there is none. */
  async savedDraft(
    account: ProviderAccount,
    messageIdHeader: string,
    mime: Buffer,
  ): Promise<GmailDraft | undefined> {
    const [saved] = await this.#drafts(account, 1, withHeader(messageIdHeader));
    if (saved) return saved;
    const written = dateIn(fieldsOfMessage(mime)) ?? this.clock.now();
    const wanted = new Wanted(['draft'], messageIdHeader, null, before(written));
    // Newest first: mostly, the first one is older, and the last that is read.
    for (const draft of await this.#drafts(account, COMPARED_DRAFTS)) {
      const read = await this.#read(account, draft.message.id, 'interactive');
      if (read && wanted.is(read)) return draft;
      if (read && dateOf(read) < wanted.since) return undefined;
    }
    return undefined;
  }

  /** A look-up holds a message up, so it has the same priority. */
  get #lookUp(): GoogleCost {
    return { units: this.gmail.costs['messages.list'], priority: 'send' };
  }

  #since(traces: SentTraces | undefined): Date {
    return traces ? before(traces.since) : new Date(this.clock.now().getTime() - USUAL_MS);
  }

  async #compare(account: ProviderAccount, wanted: Wanted): Promise<Seen> {
    const newest = await this.#list(account);
    const seen = await this.#compareAll(account, newest.ids, wanted);
    if (seen.found || seen.isWhole || newest.isWhole) return { ...seen, isWhole: true };
    const { ids } = await this.#list(account, wanted.words());
    const others = ids.filter((id) => !newest.ids.includes(id));
    const more = await this.#compareAll(account, others, wanted);
    return {
      found: more.found,
      keepsMarks: seen.keepsMarks || more.keepsMarks,
      similar: seen.similar || more.similar,
      isWhole: false,
    };
  }

  /**
   * Ids of messages of Sent, the newest first. A page may be short or empty although more follow:
   * only a page without a token is the last one.
   * @returns `isWhole`: whether these are all
   */
  async #list(account: ProviderAccount, q?: string): Promise<{ ids: string[]; isWhole: boolean }> {
    const ids: string[] = [];
    let next: string | undefined;
    for (let pages = 0; pages < MOST_PAGES && ids.length < COMPARED; pages++) {
      const query = { labelId: 'SENT', maxResults: COMPARED, pageToken: next ?? null };
      const page = await orOnceMore(() =>
        this.gmail.list(account, { ...query, ...(q && { q }) }, this.#lookUp),
      );
      ids.push(...page.messages.map(({ id }) => id));
      next = page.nextPageToken;
      if (next === undefined) break;
    }
    const isWhole = next === undefined && ids.length <= COMPARED;
    return { ids: ids.slice(0, COMPARED), isWhole };
  }

  /**
   * Drafts, the newest first. As with `#list`, only a page without a token is the last one.
   * @param most how many are wanted
   */
  async #drafts(account: ProviderAccount, most: number, q?: string): Promise<GmailDraft[]> {
    const drafts: GmailDraft[] = [];
    let next: string | undefined;
    for (let pages = 0; pages < MOST_PAGES && drafts.length < most; pages++) {
      const page = await orOnceMore(() => this.gmail.drafts(account, q, next));
      drafts.push(...page.drafts);
      next = page.nextPageToken;
      if (next === undefined) break;
    }
    return drafts.slice(0, most);
  }

  /** Compares messages, the newest first, until one is older than the message can be. */
  async #compareAll(
    account: ProviderAccount,
    ids: readonly string[],
    wanted: Wanted,
  ): Promise<Seen> {
    const seen: Seen = { found: false, keepsMarks: false, similar: false, isWhole: false };
    for (let from = 0; from < ids.length && !seen.found && !seen.isWhole; from += AT_ONCE) {
      const some = ids.slice(from, from + AT_ONCE);
      const read = await Promise.all(some.map((id) => this.#read(account, id, 'send')));
      for (const message of read) {
        if (!message) continue;
        seen.found ||= wanted.is(message);
        seen.keepsMarks ||= wanted.isMarkedBySending(message);
        seen.similar ||= wanted.isLike(message);
        seen.isWhole ||= dateOf(message) < wanted.since;
      }
    }
    return seen;
  }

  /** @returns `null` if the message was deleted since it was listed */
  #read(account: ProviderAccount, id: string, priority: 'send' | 'interactive') {
    return nullIfGone(
      orOnceMore(() => this.gmail.metadata(account, id, COMPARED_HEADERS, priority)),
    );
  }
}

/** The message that is looked up. */
class Wanted {
  /** Marks without the id that follows the digest: an earlier build wrote none. */
  readonly #marks: readonly string[];

  /** @param traces `null`: every message may be like it */
  constructor(
    kinds: readonly MarkKind[],
    private readonly messageIdHeader: string,
    private readonly traces: SentTraces | null,
    /** Messages received before this time are other ones. */
    readonly since: Date,
  ) {
    this.#marks = kinds.map((kind) => `${kind}.${markDigest(messageIdHeader)}`);
  }

  is(message: GmailMetadata): boolean {
    const marks = valuesOf(message, MARK_HEADER);
    return (
      valuesOf(message, 'Message-ID').includes(this.messageIdHeader) ||
      marks.some((mark) => this.#marks.includes(mark.split('.', 2).join('.')))
    );
  }

  /** A copy that was filed, or a draft, says nothing about what Gmail keeps when it sends. */
  isMarkedBySending(message: GmailMetadata): boolean {
    return valuesOf(message, MARK_HEADER).some((mark) => mark.startsWith('send.'));
  }

  /** Whether the message may be this one, as far as its recipients and its subject show. */
  isLike(message: GmailMetadata): boolean {
    if (dateOf(message) < this.since || valuesOf(message, MARK_HEADER).length > 0) return false;
    if (this.traces === null) return true;
    const fields = message.payload.headers;
    return isLike(this.traces, { recipients: recipientsOf(fields), subject: subjectOf(fields) });
  }

  /** Search words for messages to its first recipient since then. */
  words(): string {
    const [first] = this.traces?.recipients ?? [];
    const since = `after:${Math.floor(this.since.getTime() / 1000)}`;
    return first === undefined ? since : `${since} {to:${first} cc:${first} bcc:${first}}`;
  }
}

/**
 * A look-up makes up to fifty requests. If one response is lost, all others would have been for
 * nothing, and on a bad connection no look-up would ever end.
 */
async function orOnceMore<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof ProviderError && error.code === 'temporary')) throw error;
    return read();
  }
}

const before = (time: Date): Date => new Date(time.getTime() - SKEW_MS);

const valuesOf = ({ payload }: GmailMetadata, name: string): string[] =>
  payload.headers.flatMap((one) =>
    one.name.toLowerCase() === name.toLowerCase() ? [one.value.trim()] : [],
  );

function dateIn(fields: Parameters<typeof subjectOf>[0]): Date | null {
  const date = fields.find(({ name }) => name.toLowerCase() === 'date');
  const ms = Date.parse(date?.value ?? '');
  return Number.isNaN(ms) ? null : new Date(ms);
}

/** Search words for a Message-ID, which Gmail takes without angle brackets. */
function withHeader(messageIdHeader: string): string {
  return `rfc822msgid:${messageIdHeader.replace(/^<|>$/g, '')}`;
}
