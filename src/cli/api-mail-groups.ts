import { change, create, list, remove, type Group } from './api-group.ts';

/** Groups of mail: messages and all that belongs to them, sending, contacts, changes. */
export const MAIL_GROUPS: Readonly<Record<string, Group>> = {
  contacts: {
    summary: 'Contacts of the account',
    credentials: 'access token',
    columns: ['id', 'given_name', 'surname', 'emails', 'source'],
    actions: {
      get: list('/contacts', 'contacts'),
      post: create('/contacts', 'a contact'),
      put: change('PUT', '/contacts', 'a contact'),
      delete: remove('/contacts', 'a contact'),
      groups: {
        verb: 'GET',
        path: '/contacts/groups',
        summary: 'List groups of contacts',
        columns: ['id', 'name', 'path'],
      },
      picture: {
        verb: 'GET',
        path: '/contacts/{id}/picture',
        id: 'required',
        transfer: 'download',
        summary: 'Write its picture to the path behind the id, or to standard output',
      },
    },
  },
  delta: {
    summary: 'What changes in the account; --cursor=… says from where, 0 from the beginning',
    credentials: 'access token',
    columns: ['cursor_start', 'cursor_end', 'deltas'],
    actions: {
      'latest-cursor': {
        verb: 'POST',
        path: '/delta/latest_cursor',
        summary: 'A cursor for everything from now on',
        columns: ['cursor'],
      },
      get: { verb: 'GET', path: '/delta', summary: 'What has changed' },
      longpoll: {
        verb: 'GET',
        path: '/delta/longpoll',
        summary: 'Wait until something changes',
        patient: true,
      },
      streaming: {
        verb: 'GET',
        path: '/delta/streaming',
        summary: 'Print changes as they happen, a line of JSON each',
        patient: true,
        lines: true,
      },
    },
  },
  drafts: {
    summary: 'Drafts of the account; changing and deleting need their version',
    credentials: 'access token',
    columns: ['id', 'date', 'to', 'subject', 'version'],
    actions: {
      get: list('/drafts', 'drafts'),
      post: create('/drafts', 'a draft'),
      put: change('PUT', '/drafts', 'a draft'),
      delete: { ...remove('/drafts', 'a draft'), body: true },
    },
  },
  files: {
    summary: 'Uploads, and attachments of messages',
    credentials: 'access token',
    columns: ['id', 'filename', 'content_type', 'size'],
    actions: {
      get: list('/files', 'files'),
      upload: {
        verb: 'POST',
        path: '/files',
        transfer: 'upload',
        summary: 'Upload files, named by their paths',
      },
      download: {
        verb: 'GET',
        path: '/files/{id}/download',
        id: 'required',
        transfer: 'download',
        summary: 'Write its bytes to the path behind the id, or to standard output',
      },
      delete: remove('/files', 'an upload'),
    },
  },
  folders: {
    summary: 'Folders of an account that has them',
    credentials: 'access token',
    columns: ['id', 'name', 'display_name'],
    actions: {
      get: list('/folders', 'folders'),
      post: create('/folders', 'a folder'),
      put: change('PUT', '/folders', 'the name of a folder'),
      delete: remove('/folders', 'a folder'),
    },
  },
  labels: {
    summary: 'Labels of an account that has them',
    credentials: 'access token',
    columns: ['id', 'name', 'display_name'],
    actions: {
      get: list('/labels', 'labels'),
      post: create('/labels', 'a label'),
      put: change('PUT', '/labels', 'the name of a label'),
      delete: remove('/labels', 'a label'),
    },
  },
  messages: {
    summary: 'Messages of the account',
    credentials: 'access token',
    columns: ['id', 'date', 'from', 'subject', 'unread'],
    actions: {
      get: list('/messages', 'messages'),
      put: change('PUT', '/messages', 'flags, folder or labels, and metadata'),
      search: { verb: 'GET', path: '/messages/search', summary: 'Search them: --q="from:bo zeppelin"' },
    },
  },
  outbox: {
    summary: 'Messages sent in the background, now or later; the id is the job_status_id',
    credentials: 'access token',
    columns: [
      'job_status_id',
      'status',
      'original_data.send_at',
      'original_data.to',
      'original_data.subject',
    ],
    actions: {
      get: list('/v2/outbox', 'waiting messages'),
      post: create('/v2/outbox', 'a message'),
      patch: change('PATCH', '/v2/outbox', 'a message that is not sent yet'),
      put: change('PUT', '/v2/outbox', 'a message that is not sent yet'),
      delete: { ...remove('/v2/outbox', ''), summary: 'Cancel a message that is not sent yet' },
    },
  },
  send: {
    summary: 'Messages sent at once; the answer says what came of it',
    credentials: 'access token',
    columns: ['id', 'date', 'to', 'subject', 'thread_id'],
    actions: {
      post: {
        verb: 'POST',
        path: '/send',
        body: true,
        summary: 'Send a message, or a stored draft by its draft_id and version',
      },
    },
  },
  threads: {
    summary: 'Conversations of the account',
    credentials: 'access token',
    columns: ['id', 'last_message_timestamp', 'participants', 'subject', 'unread'],
    actions: {
      get: list('/threads', 'threads'),
      put: change('PUT', '/threads', 'flags, folder or labels of all messages of a thread'),
      search: { verb: 'GET', path: '/threads/search', summary: 'Search them: --q="from:bo zeppelin"' },
    },
  },
};
