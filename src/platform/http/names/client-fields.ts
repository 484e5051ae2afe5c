/** Fields that clients send in a body although they have no effect there. */
export interface ClientFields {
  /** Ids of the body schemas. */
  bodies: readonly string[];
  /** Names; those in nested objects with a path without indexes: `when.object`. */
  fields: readonly string[];
  /** Which clients send the fields, and why. */
  reason: string;
}

const EVENTS = ['CreateEvent', 'UpdateEvent', 'EventToIcs'];
const DRAFTS = ['CreateDraft', 'UpdateDraft'];
const AVAILABILITIES = ['AvailabilityRequest', 'ConsecutiveAvailabilityRequest'];

/**
 * The fields of bodies that no schema knows, and that are neither reported nor refused: v2 clients
 * send them in every such request, and their users cannot leave them out. `test/sdk` runs the
 * clients against a strict server.
 */
export const CLIENT_FIELDS: readonly ClientFields[] = [
  {
    bodies: [
      ...DRAFTS,
      'CreateOutboxMessage',
      'UpdateOutboxMessage',
      'SendMessage',
      'SendNowOrLater',
    ],
    fields: [
      'id',
      'object',
      'account_id',
      'date',
      'received_date',
      'snippet',
      'unread',
      'starred',
      'files',
      'events',
      'folder',
      'folder_id',
      'labels',
      'label_ids',
      'headers',
      'version',
      'job_status_id',
      'original_send_at',
    ],
    reason:
      'All clients send a whole draft: Node also a new one, Ruby and Python one that they have read',
  },
  {
    bodies: DRAFTS,
    fields: ['send_at'],
    reason: 'The composer of the web components sends it with each draft',
  },
  {
    bodies: ['UpdateMessage'],
    fields: [
      'id',
      'object',
      'account_id',
      'subject',
      'from',
      'to',
      'cc',
      'bcc',
      'reply_to',
      'date',
      'received_date',
      'thread_id',
      'snippet',
      'body',
      'files',
      'events',
      'headers',
      'reply_to_message_id',
      'content_pending',
      'job_status_id',
    ],
    reason: 'Ruby and Python send back the whole message',
  },
  {
    bodies: ['UpdateThread'],
    fields: [
      'id',
      'object',
      'account_id',
      'subject',
      'participants',
      'snippet',
      'has_attachments',
      'version',
      'first_message_timestamp',
      'last_message_timestamp',
      'last_message_received_timestamp',
      'last_message_sent_timestamp',
      'folders',
      'message_ids',
      'draft_ids',
      'messages',
      'drafts',
      'job_status_id',
    ],
    reason: 'Ruby and Python send back the whole thread',
  },
  {
    bodies: ['UpdateMessage', 'UpdateThread'],
    fields: ['labels.name', 'labels.display_name', 'folder.name', 'folder.display_name'],
    reason: 'Ruby and Python send back folder and labels as they have read them',
  },
  {
    bodies: ['UpdateFolder'],
    fields: ['id', 'object', 'account_id', 'provider_id'],
    reason: 'Ruby sends back the whole folder or label',
  },
  {
    bodies: ['UpdateCalendar'],
    fields: ['id', 'object', 'account_id', 'is_primary', 'read_only'],
    reason: 'Ruby sends back the whole calendar',
  },
  {
    bodies: ['UpdateEvent'],
    fields: [
      'id',
      'account_id',
      'message_id',
      'ical_uid',
      'owner',
      'organizer_email',
      'organizer_name',
      'status',
      'master_event_id',
      'original_start_time',
    ],
    reason: 'Node and Ruby send back the whole event, Python an original_start_time',
  },
  {
    bodies: EVENTS,
    fields: ['object'],
    reason: 'Node sends it with each event',
  },
  {
    bodies: EVENTS,
    fields: ['when.object'],
    reason: 'Ruby sends back the time as it has read it',
  },
  {
    bodies: EVENTS,
    fields: ['notifications.minutes_before_events'],
    reason: 'PHP spells minutes_before_event like this; it is read as that',
  },
  {
    bodies: EVENTS,
    fields: [
      'notifications.id',
      'notifications.status',
      'notifications.reason',
      'notifications.due_at',
    ],
    reason: 'Python sends back the notifications as it has read them',
  },
  {
    bodies: ['CreateContact', 'UpdateContact'],
    fields: [
      'id',
      'object',
      'account_id',
      'source',
      'picture_url',
      'groups.object',
      'groups.account_id',
    ],
    reason: 'Node, Ruby and Python send the whole contact',
  },
  {
    bodies: AVAILABILITIES,
    fields: ['free_busy.object', 'free_busy.time_slots.object', 'free_busy.time_slots.status'],
    reason: 'Node, Ruby, Python and PHP hand on the answer to a request for free and busy times',
  },
  {
    bodies: AVAILABILITIES,
    fields: ['free_busy.time_slots.emails'],
    reason: 'Java sends the time slots of its answers, which have addresses',
  },
  {
    bodies: AVAILABILITIES,
    fields: ['open_hours.object_type'],
    reason: 'All clients send it with open hours',
  },
  {
    bodies: ['ConsecutiveAvailabilityRequest'],
    fields: ['events', 'round_robin'],
    reason: 'The web components describe their meetings in them',
  },
  {
    bodies: ['Authorize'],
    fields: ['settings.redirect_uri'],
    reason: 'Node, Java and Go require it for office365, also with a password',
  },
  {
    bodies: ['Authorize'],
    fields: ['settings.exchange_server_host', 'settings.eas_server_host'],
    reason:
      'Java and PHP send the one, Go the other with exchange accounts, which are reached by IMAP here',
  },
];
