/** What tests can set on a running stub. Every field may be changed at any time. */
export interface StubSettings {
  /** Lifetime of access tokens in seconds. Default 3600. */
  accessTokenSeconds: number;
  /** How long a refresh token still works after a newer one was issued. Default 3600. */
  oldRefreshTokenSeconds: number;
  /** User who signs in when the request has no `login_hint`. */
  signInAs: string | null;
  /** Answer of the consent page. */
  consent: 'granted' | 'denied' | 'admin-required';
  /** Answer of the administrator's consent page. */
  adminConsent: 'granted' | 'denied';
  /** Time until a sent message appears in Sent Items. Default 0: it is there at once. */
  sentDelayMs: number;
  /** Time until a sent message arrives at users of the stub. */
  deliveryDelayMs: number;
  /** Requests of one application to one mailbox in one window. Default 10,000. */
  requestsPerWindow: number;
  /** Length of that window, which slides. Default 10 minutes. */
  windowMs: number;
  /** Requests of one application to one mailbox at the same time. Default 4. */
  concurrentRequests: number;
  /** Messages that one mailbox sends in a minute. Default 30. */
  sendsPerMinute: number;
  /**
   * How mailboxes fail for a while, although nothing has happened to them. Default `null`: they
   * work.
   * - `not-enabled`: 404 `MailboxNotEnabledForRESTAPI`
   * - `not-found`: 404 `ErrorItemNotFound`
   * - `unknown`: 404 `UnknownError`
   * - `bad-request`: 400 `ErrorInvalidRequest`
   * - `empty-lists`: every list is empty; single objects are there
   * - `empty`: every list is empty, and no object is found
   */
  outage: 'not-enabled' | 'not-found' | 'unknown' | 'bad-request' | 'empty-lists' | 'empty' | null;
  /**
   * Every so many requests of a mailbox, one is answered by 404
   * `MailboxNotEnabledForRESTAPI`. Default `null`: none is.
   */
  outageEvery: number | null;
  /**
   * Every so many reading requests of a mailbox, one is answered by 503 `MailboxInfoStale`. Default
   * `null`: none is.
   */
  staleEvery: number | null;
  /**
   * What lists of a series' instances lack: `last` is the last one, in lists of more than 40 days,
   * and `all` every one. Default `null`: nothing.
   */
  unlistedInstances: 'last' | 'all' | null;
  /** Items that a mail folder counts and does not list, such as contacts. Default 0. */
  unlistedItems: number;
  /** Immutable ids of messages: each page of a delta query with one of them is answered by 504. */
  brokenMessages: Set<string>;
  /**
   * What a creation of an event is answered by that repeats a `transactionId`: 409, the first
   * event, or another event. Default `found`.
   */
  repeatedCreation: 'conflict' | 'found' | 'another';
  /** Whether subscriptions to the events of one calendar are accepted. Default `false`. */
  watchesCalendars: boolean;
  /**
   * Milliseconds for which delta queries do not show a change that they have found. Notifications
   * report it at once. Default 0.
   */
  deltaLagMs: number;
  /** Whether pages of delta queries repeat an entry (graph-docs#6785). Default `false`. */
  repeatsEntries: boolean;
  /** Whether `Mail.Send` is enough to send as others. Default `true`. */
  sendsAsOthersWithMailSend: boolean;
  /** Services of which calendars allow meetings. Default: Teams. */
  meetingProviders: string[];
  /**
   * Whether the organization lets users send from their aliases (`SendFromAliasEnabled`). Default
   * `true`. Otherwise Exchange replaces an alias in From by the address of the mailbox, and says
   * nothing.
   */
  sendsFromAliases: boolean;
  /** Whether Exchange replaces the Message-ID of what it sends. Default `false`. */
  replacesMessageIds: boolean;
  /**
   * Whether messages that were not received, such as those in Sent Items, have no
   * `internetMessageHeaders` (graph-docs#2716, 2018; office-js#5413, 2026). Default `false`.
   */
  hidesOwnHeaders: boolean;
  /** Whether Exchange drops header fields of other names when it sends. Default `false`. */
  dropsHeaders: boolean;
  /** Whether 429 has the header Retry-After. Default true. */
  sendsRetryAfter: boolean;
  /**
   * What a batch with more than four requests does: `queued` works on four at a time, `throttled`
   * answers the fifth and later ones with 429. Default `queued`.
   */
  batch: 'queued' | 'throttled';
  /** Time that every request to Graph takes at least. Default 0. */
  latencyMs: number;
  /** Refuses requests to Graph without `Prefer: IdType="ImmutableId"`, and reports violations. */
  requiresImmutableIds: boolean;
  /** Most messages of a page of a sorted or filtered list, whatever is asked for. Default 1,000. */
  messagesPerPage: number;
  /** Largest body of a request to Graph. Default 4 MB: larger messages need upload sessions. */
  requestBytes: number;
  /** Bytes that an application uploads to one mailbox in five minutes. Default 150 MB. */
  uploadBytes: number;
  /** Waits before a notification that was not accepted is posted again. Default: 200 ms and 1 s. */
  notificationRetriesMs: number[];
  /** Most time that the receiver of a notification has to confirm its address. Default 10 s. */
  validationTimeoutMs: number;
}

/** What a connector has to live with every day. */
export const EVERY_DAY = {
  repeatsEntries: true,
  repeatedCreation: 'conflict',
  sendsFromAliases: false,
  sendsAsOthersWithMailSend: false,
  hidesOwnHeaders: true,
} as const satisfies Partial<StubSettings>;

/** The one switch: everything unpleasant at once, except `NOT_COMBINED`. */
export const UNPLEASANT = {
  ...EVERY_DAY,
  replacesMessageIds: true,
  deltaLagMs: 1_000,
  outageEvery: 25,
  staleEvery: 31,
  sendsRetryAfter: false,
  batch: 'throttled',
  messagesPerPage: 20,
} as const satisfies Partial<StubSettings>;

/** The same without the lag: for suites that expect every change after one pass. */
export const UNPLEASANT_AT_ONCE = { ...UNPLEASANT, deltaLagMs: 0 } as const;

/** Settings that `UNPLEASANT` leaves as they are, with the reason. Every other one is in it. */
export const NOT_COMBINED: Record<Exclude<keyof StubSettings, keyof typeof UNPLEASANT>, string> = {
  accessTokenSeconds: 'a choice of the test, no unpleasantness',
  oldRefreshTokenSeconds: 'a choice of the test, no unpleasantness',
  signInAs: 'a choice of the test, no unpleasantness',
  consent: 'without consent there is no account',
  adminConsent: 'without consent there is no account',
  sentDelayMs: 'suites look into Sent Items as soon as a message is sent',
  deliveryDelayMs: 'suites look for a delivered message at once',
  requestsPerWindow: 'the published limit; suites set a lower one with the limit of the product',
  windowMs: 'the published limit',
  concurrentRequests: 'the published limit',
  sendsPerMinute: 'the published limit',
  uploadBytes: 'the published limit',
  outage: 'lasts until it is ended: nothing can be found meanwhile; `outageEvery` passes',
  unlistedInstances: 'instances that are never listed look like deleted ones; a suite ends it',
  unlistedItems: 'a folder that counts them is not deleted, which is right',
  brokenMessages: 'needs the id of a message',
  watchesCalendars: 'more than the documents promise',
  meetingProviders: 'suites ask for meetings',
  dropsHeaders:
    'without Message-ID and mark nothing recognises a sent message; the contract of look-ups has it',
  latencyMs: 'suites would take long',
  requiresImmutableIds: 'a check of the client, which suites switch on by themselves',
  requestBytes: 'the published limit',
  notificationRetriesMs: 'a choice of the test, no unpleasantness',
  validationTimeoutMs: 'a choice of the test, no unpleasantness',
};

export const defaultSettings = (): StubSettings => ({
  accessTokenSeconds: 3_600,
  oldRefreshTokenSeconds: 3_600,
  signInAs: null,
  consent: 'granted',
  adminConsent: 'granted',
  sentDelayMs: 0,
  deliveryDelayMs: 0,
  requestsPerWindow: 10_000,
  windowMs: 600_000,
  concurrentRequests: 4,
  sendsPerMinute: 30,
  outage: null,
  outageEvery: null,
  staleEvery: null,
  repeatedCreation: 'found',
  watchesCalendars: false,
  repeatsEntries: false,
  deltaLagMs: 0,
  sendsAsOthersWithMailSend: true,
  meetingProviders: ['teamsForBusiness'],
  sendsFromAliases: true,
  replacesMessageIds: false,
  dropsHeaders: false,
  hidesOwnHeaders: false,
  unlistedInstances: null,
  unlistedItems: 0,
  brokenMessages: new Set(),
  sendsRetryAfter: true,
  batch: 'queued',
  latencyMs: 0,
  requiresImmutableIds: false,
  messagesPerPage: 1_000,
  requestBytes: 4 * 1024 * 1024,
  uploadBytes: 150 * 1024 * 1024,
  notificationRetriesMs: [200, 1_000],
  validationTimeoutMs: 10_000,
});
