/** Name and description of a tag of the document, in the order of the documentation. */
export type Tag = readonly [name: string, description: string];

/** The tags of the API that applications use. */
export const TAGS: readonly Tag[] = [
  [
    'connect',
    'Connect accounts: hosted sign-in, native sign-in, and OAuth tokens of applications.',
  ],
  ['integrations', 'What an application has registered at Google, Microsoft and other providers.'],
  ['grants', 'Connected accounts of an application, and their access tokens.'],
  ['applications', 'Name, addresses and settings of an application.'],
  ['accounts', 'The account of an access token, and the accounts of an application.'],
  ['messages', 'Messages of the mailbox: list, read, search, change flags and folders.'],
  ['threads', 'Conversations: messages that belong together.'],
  ['drafts', 'Messages that are being written.'],
  ['send', 'Send a message within the request.'],
  [
    'outbox',
    'Send a message now or at a set time, change it or cancel it until then. Every method and path is also served under `/outbox`.',
  ],
  ['job-statuses', 'The results of sends and of changes at providers, with every attempt.'],
  ['files', 'Attachments: upload, download.'],
  ['folders', 'Folders of accounts that have folders.'],
  ['labels', 'Labels of accounts that have labels, such as Gmail.'],
  ['calendars', 'Calendars, availability, free-busy times and feeds.'],
  ['events', 'Events, participants, recurrence, reminders and invitations.'],
  ['contacts', 'Address books, and people of the mail.'],
  ['resources', 'Rooms that can be booked.'],
  ['conferencing', 'Services with which an application creates online meetings.'],
  ['webhooks', 'Addresses that are notified of changes, and their deliveries.'],
  ['delta', 'The change log of an account: what changed since a cursor.'],
  ['relay', 'A mailing service that takes over when an account cannot send.'],
  ['neural', 'Text analysis: sentiment, signatures, clean conversations, categories, OCR.'],
  ['health', 'Whether the process runs and can serve requests.'],
];

/** The tags of the API for operators. */
export const ADMIN_TAGS: readonly Tag[] = [
  ['overview', 'What an operator looks at first: lateness, failures, sync, webhooks.'],
  ['jobs', 'Jobs of all accounts: find, retry, cancel, release.'],
  ['webhooks', 'Webhooks of all applications: backlog, attempts, replay.'],
  ['accounts', 'Accounts of all applications: health, sync, pause, access tokens.'],
  ['applications', 'Applications: suspend, delete.'],
  ['capacity', 'Sizes of the large tables, their growth, and what is deleted when.'],
  ['audit', 'Who changed what, and when.'],
  ['log level', 'How much all processes log, for a while.'],
  ['operators', 'Those who run the server, and their tokens.'],
];
