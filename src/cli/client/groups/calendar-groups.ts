import { call, change, create, list, remove, type Group } from './group.ts';

const CONFERENCING = '/a/{client_id}/conferencing';

/** Groups for calendars, events, and the rooms and services of meetings. */
export const CALENDAR_GROUPS: Readonly<Record<string, Group>> = {
  calendars: {
    summary: 'Calendars of the account',
    columns: ['id', 'name', 'timezone', 'is_primary', 'read_only'],
    actions: {
      get: list('/calendars', 'calendars'),
      post: create('/calendars', 'a calendar'),
      put: change('PUT', '/calendars', 'a calendar'),
      delete: remove('/calendars', 'a calendar'),
      feed: call('GET /calendars/{id}/feed', 'Show whether the calendar has a secret address', {
        columns: ['calendar_id', 'created_at'],
      }),
      'feed:make': call(
        'POST /calendars/{id}/feed',
        'Create a secret address; an earlier one stops working',
        {
          columns: ['url'],
        },
      ),
      'feed:revoke': call('DELETE /calendars/{id}/feed', 'Revoke the secret address'),
      'free-busy': call('POST /calendars/free-busy', 'Show when people are busy', {
        body: true,
        columns: ['email', 'calendar_id', 'time_slots'],
      }),
      availability: call('POST /calendars/availability', 'Find times when people can meet', {
        body: true,
        columns: ['time_slots', 'order'],
      }),
      'availability:consecutive': call(
        'POST /calendars/availability/consecutive',
        'Find times for several meetings in a row',
        { body: true },
      ),
    },
  },
  conferencing: {
    summary: 'Services that create online meetings for events',
    credentials: 'client secret',
    columns: ['id', 'provider', 'kind', 'settings', 'last_error'],
    actions: {
      get: list(CONFERENCING, 'services'),
      put: call(`PUT ${CONFERENCING}`, 'Set up or replace a service', { body: true }),
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
      notifications: call(
        'GET /events/{id}/notifications',
        'Show the reminders of an event and their results',
        {
          columns: ['type', 'recipient', 'status', 'due_at', 'sent_at', 'reason'],
        },
      ),
      invitations: call(
        'GET /events/{id}/invitations',
        'Show the invitations to an event and their results',
        { columns: ['email', 'kind', 'sequence', 'status', 'reason', 'job_status_id'] },
      ),
      'to-ics': call('POST /events/to-ics', 'Convert an event to an iCalendar file', {
        body: true,
        columns: ['ics'],
      }),
    },
  },
  resources: {
    summary: 'Meeting rooms',
    columns: ['email', 'name', 'capacity', 'building', 'floor_name'],
    actions: { get: call('GET /resources', 'List rooms') },
  },
  'send-rsvp': {
    summary: 'Answers to invitations',
    columns: ['id', 'title', 'when', 'participants', 'job_status_id'],
    actions: {
      post: call(
        'POST /send-rsvp',
        'Answer the invitation of an event_id with the status yes, no or maybe, and a comment',
        {
          body: true,
        },
      ),
    },
  },
};
