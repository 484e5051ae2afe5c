import { call, change, create, list, remove, type Group } from './api-group.ts';

const CONFERENCING = '/a/{client_id}/conferencing';

/** Groups of calendars and events, and of what they meet in. */
export const CALENDAR_GROUPS: Readonly<Record<string, Group>> = {
  calendars: {
    summary: 'Calendars of the account',
    columns: ['id', 'name', 'timezone', 'is_primary', 'read_only'],
    actions: {
      get: list('/calendars', 'calendars'),
      post: create('/calendars', 'a calendar'),
      put: change('PUT', '/calendars', 'a calendar'),
      delete: remove('/calendars', 'a calendar'),
      feed: call('GET /calendars/{id}/feed', 'Whether it can be read at a secret address', {
        columns: ['calendar_id', 'created_at'],
      }),
      'feed:make': call(
        'POST /calendars/{id}/feed',
        'Make a secret address of it; one made before ends',
        {
          columns: ['url'],
        },
      ),
      'feed:revoke': call('DELETE /calendars/{id}/feed', 'End its secret address'),
      'free-busy': call('POST /calendars/free-busy', 'When people have no time', {
        body: true,
        columns: ['email', 'calendar_id', 'time_slots'],
      }),
      availability: call('POST /calendars/availability', 'When people could meet', {
        body: true,
        columns: ['time_slots', 'order'],
      }),
      'availability:consecutive': call(
        'POST /calendars/availability/consecutive',
        'When several meetings could follow each other',
        { body: true },
      ),
    },
  },
  conferencing: {
    summary: 'The services that make meetings for events',
    credentials: 'client secret',
    columns: ['id', 'provider', 'kind', 'settings', 'last_error'],
    actions: {
      get: list(CONFERENCING, 'services'),
      put: call(`PUT ${CONFERENCING}`, 'Set one up or replace it', { body: true }),
      delete: remove(CONFERENCING, 'a service'),
    },
  },
  events: {
    summary: 'Events of the account',
    columns: ['id', 'title', 'when', 'calendar_id', 'status'],
    actions: {
      get: list('/events', 'events'),
      post: create('/events', 'an event'),
      put: change('PUT', '/events', 'an event'),
      delete: remove('/events', 'an event'),
      notifications: call('GET /events/{id}/notifications', 'What became of its reminders', {
        columns: ['type', 'recipient', 'status', 'due_at', 'sent_at', 'reason'],
      }),
      invitations: call(
        'GET /events/{id}/invitations',
        'What its participants were told, and what became of it',
        { columns: ['email', 'kind', 'sequence', 'status', 'reason', 'job_status_id'] },
      ),
      'to-ics': call('POST /events/to-ics', 'An event as an iCalendar file', {
        body: true,
        columns: ['ics'],
      }),
    },
  },
  resources: {
    summary: 'Rooms that meetings can be held in',
    columns: ['email', 'name', 'capacity', 'building', 'floor_name'],
    actions: { get: call('GET /resources', 'List rooms') },
  },
  'send-rsvp': {
    summary: 'Answers to invitations',
    columns: ['id', 'title', 'when', 'participants', 'job_status_id'],
    actions: {
      post: call(
        'POST /send-rsvp',
        'Answer an event_id with the status yes, no or maybe, and a comment',
        {
          body: true,
        },
      ),
    },
  },
};
