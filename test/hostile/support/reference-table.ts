import type { Belongings } from '../../support/hostile-world.ts';

/** Everything that an owner has, including objects that only references name. */
export interface Owner extends Belongings {
  /** A cursor of the owner's deltas. */
  cursor: string;
  /** Id of a contact group. */
  group: string;
}

/** A request that names an object of another owner in its query or body. */
export interface ReferenceRow {
  /** For example `POST /events`. The path names the caller's own object if it needs one. */
  route: string;
  /** Field of the body (`calendars[].calendar_ids`) or, after `?`, of the query. */
  field: string;
  /** The body, or the query if the field begins with `?`, with an id of the other owner. */
  with(other: Owner, own: Owner): Record<string, unknown>;
  /**
   * The expected response. `refused` is 400 or 404. `empty` is 200 with an empty list. `ignored` is
   * any response without data of the other owner, because the field refers to no existing object.
   */
  answer: 'refused' | 'empty' | 'ignored';
  /** Whether accounts of one application may name each other's objects here. */
  sharedInApplication?: boolean;
}

const PERSON = { email: 'bo@example.test' };
const MAIL = { to: [PERSON], subject: 'Hello', body: 'Hello' };
const LATER = { ...MAIL, send_at: 1_900_000_000 };
const EVENT = { title: 'Review', when: { time: 1_900_000_000 } };
const WINDOW = { start_time: 1_900_000_000, end_time: 1_900_003_600, emails: [] };
const SLOTS = { ...WINDOW, duration_minutes: 30, interval_minutes: 30, free_busy: [] };

const row = (
  route: string,
  field: string,
  body: ReferenceRow['with'],
  answer: ReferenceRow['answer'] = 'refused',
): ReferenceRow => ({ route, field, with: body, answer });

/** References of a message that is written: files, the message it replies to, and a thread. */
const composed = (route: string, base: object, ...fields: readonly string[]): ReferenceRow[] =>
  [
    row(route, 'file_ids', ({ file }) => ({ ...base, file_ids: [file] })),
    row(route, 'reply_to_message_id', ({ message }) => ({ ...base, reply_to_message_id: message })),
    row(route, 'thread_id', ({ thread }) => ({ ...base, thread_id: thread }), 'ignored'),
    row(route, 'draft_id', ({ draft }) => ({ draft_id: draft, version: 0 })),
  ].filter(({ field }) => fields.includes(field));
const filed = (route: string): ReferenceRow[] => [
  row(route, 'folder_id', ({ folder }) => ({ folder_id: folder })),
  row(route, 'label_ids', ({ folder }) => ({ label_ids: [folder] })),
];
/** Older names of these fields, by id or with the object that a client has read. */
const filedAs = (route: string): ReferenceRow[] => [
  row(route, 'folder', ({ folder }) => ({ folder })),
  row(route, 'folder.id', ({ folder }) => ({ folder: { id: folder } })),
  row(route, 'labels', ({ folder }) => ({ labels: [folder] })),
  row(route, 'labels[].id', ({ folder }) => ({ labels: [{ id: folder }] })),
];
const grouped = (route: string): ReferenceRow[] => [
  row(route, 'group', ({ group }) => ({ group })),
  row(route, 'groups[].id', ({ group }) => ({ groups: [{ id: group }] })),
];
const filters = (route: string): ReferenceRow[] => [
  row(route, '?in', ({ folder }) => ({ in: folder }), 'empty'),
  row(route, '?folder_id', ({ folder }) => ({ folder_id: folder }), 'empty'),
  row(route, '?label_id', ({ folder }) => ({ label_id: folder }), 'empty'),
  row(route, '?not_in', ({ folder }) => ({ not_in: folder }), 'ignored'),
  row(route, '?thread_id', ({ thread }) => ({ thread_id: thread }), 'empty'),
];
/** The named account must belong to the calling application. */
const ofApplication = (rest: ReferenceRow): ReferenceRow => ({
  ...rest,
  sharedInApplication: true,
});
const busy = (route: string, base: object, wrap: (id: string) => unknown): ReferenceRow[] => {
  const calendars = (account_id: string, calendar: string) => ({
    ...base,
    calendars: [{ account_id, calendar_ids: wrap(calendar) }],
  });
  return [
    row(route, 'calendars[].calendar_ids', (other, own) =>
      calendars(own.account.id, other.calendar),
    ),
    ofApplication(
      row(route, 'calendars[].account_id', (other) => calendars(other.account.id, other.calendar)),
    ),
  ];
};
const neural = (name: string): ReferenceRow[] => [
  row(`PUT /neural/${name}`, 'message_id', ({ message }) => ({ message_id: [message] })),
  row(`POST /neural/${name}/feedback`, 'message_id', ({ message }) => ({ message_id: message })),
];
const moved = (route: string): ReferenceRow =>
  row(route, 'calendar_id', ({ calendar }) => ({ calendar_id: calendar }));
const signIn = (more: object) => ({
  provider: 'sandbox',
  redirect_uri: 'https://app.example.test/callback',
  ...more,
});
const cursor = (route: string): ReferenceRow =>
  row(route, '?cursor', ({ cursor: place }) => ({ cursor: place, timeout: 1 }));

/**
 * Every field of a query or body that may contain an id. `references.hostile-spec.ts` fills these
 * fields with ids of another account and of another application. It fails for a field of the
 * OpenAPI document that is neither here nor in `NO_REFERENCES`.
 */
export const REFERENCE_TABLE: readonly ReferenceRow[] = [
  ...composed('POST /drafts', MAIL, 'file_ids', 'reply_to_message_id', 'thread_id'),
  ...composed(
    'PUT /drafts/{id}',
    { ...MAIL, version: 0 },
    'file_ids',
    'reply_to_message_id',
    'thread_id',
  ),
  ...composed('POST /send', MAIL, 'file_ids', 'reply_to_message_id', 'thread_id', 'draft_id'),
  ...composed('POST /v2/send', MAIL, 'file_ids', 'reply_to_message_id', 'thread_id', 'draft_id'),
  ...composed('POST /v2/outbox', LATER, 'file_ids', 'reply_to_message_id', 'thread_id'),
  ...composed(
    'PUT /v2/outbox/{job_status_id}',
    LATER,
    'file_ids',
    'reply_to_message_id',
    'thread_id',
  ),
  ...composed(
    'PATCH /v2/outbox/{job_status_id}',
    {},
    'file_ids',
    'reply_to_message_id',
    'thread_id',
  ),

  ...filed('PUT /messages/{id}'),
  ...filedAs('PUT /messages/{id}'),
  ...filedAs('PATCH /messages/{id}'),
  ...filed('PATCH /messages/{id}'),
  ...filed('PUT /threads/{id}'),
  ...filed('PATCH /threads/{id}'),
  ...filedAs('PUT /threads/{id}'),
  ...filedAs('PATCH /threads/{id}'),
  ...filters('GET /messages'),
  ...filters('GET /threads'),
  ...filters('GET /drafts'),
  row('GET /files', '?message_id', ({ message }) => ({ message_id: message }), 'empty'),

  ...grouped('POST /contacts'),
  ...grouped('PUT /contacts/{id}'),
  ...grouped('PATCH /contacts/{id}'),
  row('GET /contacts', '?group', ({ group }) => ({ group }), 'empty'),

  row('POST /events', 'calendar_id', ({ calendar }) => ({ ...EVENT, calendar_id: calendar })),
  row('POST /events/to-ics', 'calendar_id', ({ calendar }) => ({
    ...EVENT,
    calendar_id: calendar,
  })),
  row('POST /events/to-ics', 'event_id', ({ event }) => ({ event_id: event })),
  moved('PUT /events/{id}'),
  moved('PATCH /events/{id}'),
  moved('POST /events/{id}'),
  row('GET /events', '?calendar_id', ({ calendar }) => ({ calendar_id: calendar }), 'empty'),
  row('GET /events', '?event_id', ({ event }) => ({ event_id: event }), 'empty'),
  row('POST /send-rsvp', 'event_id', ({ invitation }) => ({ event_id: invitation, status: 'yes' })),
  row('POST /send-rsvp', 'account_id', ({ account }, own) => ({
    event_id: own.invitation,
    account_id: account.id,
    status: 'yes',
  })),
  ...busy('POST /calendars/free-busy', WINDOW, (id) => [id]),
  ...busy('POST /calendars/availability', SLOTS, (id) => [id]),
  ...busy('POST /calendars/availability/consecutive', { ...SLOTS, emails: [[]] }, (id) => [id]),

  ...['sentiment', 'signature', 'conversation', 'categorize'].flatMap(neural),
  row('PUT /neural/categorize', 'messageId', ({ message }) => ({ messageId: [message] })),
  row('PUT /neural/sentiment/feedback', 'message_id', ({ message }) => ({ message_id: message })),
  row('PUT /neural/ocr', 'file_id', ({ file }) => ({ file_id: file })),
  row('POST /neural/ocr/feedback', 'file_id', ({ file }) => ({ file_id: file })),

  cursor('GET /delta'),
  cursor('GET /delta/longpoll'),
  ofApplication(
    row('GET /a/{client_id}/events', '?webhook_id', ({ webhook }) => ({ webhook_id: webhook })),
  ),
  ofApplication(
    row('POST /a/{client_id}/events/ack', 'webhook_id', ({ webhook }) => ({
      webhook_id: webhook,
      cursor: '0',
    })),
  ),

  ofApplication(
    row('POST /connect/auth', 'grant_id', ({ account }) => signIn({ grant_id: account.id })),
  ),
  ofApplication(
    row('POST /connect/auth', 'account_id', ({ account }) => signIn({ account_id: account.id })),
  ),
  ofApplication(
    row('POST /connect/authorize', 'reauth_account_id', ({ account }, { application }) => ({
      client_id: application.clientId,
      name: 'Ada',
      email_address: account.email,
      provider: 'sandbox',
      reauth_account_id: account.id,
    })),
  ),
  ofApplication(
    row(
      'GET /a/{client_id}/audit-log',
      '?account_id',
      ({ account }) => ({ account_id: account.id }),
      'empty',
    ),
  ),
  row('POST /a/{client_id}/accounts/{id}/revoke-all', 'keep_access_token', ({ account }) => ({
    keep_access_token: account.token,
  })),
  row('POST /a/{client_id}/accounts/{id}/token-info', 'access_token', ({ account }) => ({
    access_token: account.token,
  })),
];

/**
 * Fields that look like references but are not, each with the reason. A pattern applies to every
 * route.
 */
export const NO_REFERENCES: readonly [pattern: RegExp, reason: string][] = [
  [/ (settings\.|\?)?client_id$/, 'a credential, or the name of an application at a provider'],
  [/provider$/, 'the name of a service'],
  [/allow_response_type_token$/, 'a switch'],
  [/customer_event_id$/, 'a label chosen by the application'],
  [/event_collection_id$/, 'a label chosen by the application'],
  [/ics_options\.(ical_uid|prodid)$/, 'a text copied into the file'],
  [/notifications\[\]\.(minutes_before_event|message)$/, 'content of a reminder'],
  [/^POST \/files file$/, 'bytes'],
  [/ (calendars|groups)$/, 'a list whose fields have rows'],
  [
    /^(GET|POST) \/a\/\{client_id\}\/events(\/streaming|\/ack)? \??cursor$/,
    'a position of the webhook that the request names; e2e/event-feed tests others',
  ],
  [
    /^GET \/a\/\{client_id\}\/events\/streaming \?webhook_id$/,
    'as in GET /a/{client_id}/events, in a response that does not end',
  ],
  [
    /^POST \/a\/\{client_id\}\/webhooks\/\{id\}\/replay event_id$/,
    'a stored event of the webhook in the path; e2e/event-feed tests others',
  ],
  [
    /^GET \/delta\/streaming \?cursor$/,
    'the cursor of GET /delta, in a response that does not end',
  ],
];
