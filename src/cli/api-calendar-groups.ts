import { change, create, list, remove, type Group } from './api-group.ts';

const CONFERENCING = '/a/{client_id}/conferencing';

/** Groups of calendars and events, and of what they meet in. */
export const CALENDAR_GROUPS: Readonly<Record<string, Group>> = {
  calendars: {
    summary: 'Calendars of the account',
    credentials: 'access token',
    columns: ['id', 'name', 'timezone', 'is_primary', 'read_only'],
    actions: {
      get: list('/calendars', 'calendars'),
      post: create('/calendars', 'a calendar'),
      put: change('PUT', '/calendars', 'a calendar'),
      delete: remove('/calendars', 'a calendar'),
      feed: {
        verb: 'GET',
        path: '/calendars/{id}/feed',
        id: 'required',
        summary: 'Whether it can be read at a secret address',
        columns: ['calendar_id', 'created_at'],
      },
      'feed:make': {
        verb: 'POST',
        path: '/calendars/{id}/feed',
        id: 'required',
        summary: 'Make a secret address of it; one made before ends',
        columns: ['url'],
      },
      'feed:revoke': {
        verb: 'DELETE',
        path: '/calendars/{id}/feed',
        id: 'required',
        summary: 'End its secret address',
      },
      'free-busy': {
        verb: 'POST',
        path: '/calendars/free-busy',
        body: true,
        summary: 'When people have no time',
        columns: ['email', 'calendar_id', 'time_slots'],
      },
      availability: {
        verb: 'POST',
        path: '/calendars/availability',
        body: true,
        summary: 'When people could meet',
        columns: ['time_slots', 'order'],
      },
      'availability:consecutive': {
        verb: 'POST',
        path: '/calendars/availability/consecutive',
        body: true,
        summary: 'When several meetings could follow each other',
      },
    },
  },
  conferencing: {
    summary: 'The services that make meetings for events',
    credentials: 'client secret',
    columns: ['id', 'provider', 'kind', 'settings', 'last_error'],
    actions: {
      get: list(CONFERENCING, 'services'),
      put: { verb: 'PUT', path: CONFERENCING, body: true, summary: 'Set one up or replace it' },
      delete: remove(CONFERENCING, 'a service'),
    },
  },
  events: {
    summary: 'Events of the account',
    credentials: 'access token',
    columns: ['id', 'title', 'when', 'calendar_id', 'status'],
    actions: {
      get: list('/events', 'events'),
      post: create('/events', 'an event'),
      put: change('PUT', '/events', 'an event'),
      delete: remove('/events', 'an event'),
      notifications: {
        verb: 'GET',
        path: '/events/{id}/notifications',
        id: 'required',
        summary: 'What became of its reminders',
        columns: ['type', 'recipient', 'status', 'due_at', 'sent_at', 'reason'],
      },
      invitations: {
        verb: 'GET',
        path: '/events/{id}/invitations',
        id: 'required',
        summary: 'What its participants were told, and what became of it',
        columns: ['email', 'kind', 'sequence', 'status', 'reason', 'job_status_id'],
      },
      'to-ics': {
        verb: 'POST',
        path: '/events/to-ics',
        body: true,
        summary: 'An event as an iCalendar file',
        columns: ['ics'],
      },
    },
  },
  resources: {
    summary: 'Rooms that meetings can be held in',
    credentials: 'access token',
    columns: ['email', 'name', 'capacity', 'building', 'floor_name'],
    actions: { get: { verb: 'GET', path: '/resources', summary: 'List rooms' } },
  },
  'send-rsvp': {
    summary: 'Answers to invitations',
    credentials: 'access token',
    columns: ['id', 'title', 'when', 'participants', 'job_status_id'],
    actions: {
      post: {
        verb: 'POST',
        path: '/send-rsvp',
        body: true,
        summary: 'Answer an event_id with the status yes, no or maybe, and a comment',
      },
    },
  },
};
