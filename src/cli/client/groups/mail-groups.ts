import { call, change, create, list, remove, type Group } from './group.ts';

const found = (what: string, summary: string) =>
  call(`PUT /neural/${what}`, summary, { body: true });
const feedback = (what: string, summary: string) =>
  call(`POST /neural/${what}/feedback`, summary, { body: true });

/** Groups for messages and everything that belongs to them, sending, contacts, and changes. */
export const MAIL_GROUPS: Readonly<Record<string, Group>> = {
  contacts: {
    summary: 'Contacts of the account',
    columns: ['id', 'given_name', 'surname', 'emails', 'source'],
    actions: {
      get: list('/contacts', 'contacts'),
      post: create('/contacts', 'a contact'),
      put: change('PUT', '/contacts', 'a contact'),
      delete: remove('/contacts', 'a contact'),
      groups: call('GET /contacts/groups', 'List groups of contacts', {
        columns: ['id', 'name', 'path'],
      }),
      picture: call(
        'GET /contacts/{id}/picture',
        'Write the picture to the path after the id, or to standard output',
        { transfer: 'download' },
      ),
    },
  },
  delta: {
    summary:
      'Changes in the account; --cursor=… is the position to start from, 0 for the beginning',
    columns: ['cursor_start', 'cursor_end', 'deltas'],
    actions: {
      'latest-cursor': call('POST /delta/latest_cursor', 'Get a cursor for all later changes', {
        columns: ['cursor'],
      }),
      get: call('GET /delta', 'List changes'),
      longpoll: call('GET /delta/longpoll', 'Wait until something changes', { patient: true }),
      streaming: call(
        'GET /delta/streaming',
        'Print changes as they happen, one line of JSON each',
        {
          patient: true,
          lines: true,
        },
      ),
    },
  },
  drafts: {
    summary: 'Drafts of the account; changing or deleting one needs its version',
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
    columns: ['id', 'filename', 'content_type', 'size'],
    actions: {
      get: list('/files', 'files'),
      upload: call('POST /files', 'Upload files, named by their paths', { transfer: 'upload' }),
      download: call(
        'GET /files/{id}/download',
        'Write the file to the path after the id, or to standard output',
        { transfer: 'download' },
      ),
      delete: remove('/files', 'an upload'),
    },
  },
  folders: {
    summary: 'Folders of an account with folders',
    columns: ['id', 'name', 'display_name'],
    actions: {
      get: list('/folders', 'folders'),
      post: create('/folders', 'a folder'),
      put: change('PUT', '/folders', 'the name of a folder'),
      delete: remove('/folders', 'a folder'),
    },
  },
  labels: {
    summary: 'Labels of an account with labels',
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
    columns: ['id', 'date', 'from', 'subject', 'unread'],
    actions: {
      get: list('/messages', 'messages'),
      put: change('PUT', '/messages', 'flags, folder or labels, and metadata'),
      search: call('GET /messages/search', 'Search them: --q="from:bo zeppelin"'),
    },
  },
  neural: {
    summary: 'Machine analysis of messages and files, done on the server itself',
    columns: ['id', 'subject', 'categorizer.category', 'signature', 'conversation'],
    actions: {
      sentiment: {
        ...found('sentiment', 'Rate the sentiment of a text or of messages'),
        columns: ['sentiment', 'sentiment_score', 'text'],
      },
      signature: found('signature', 'Find signatures of messages'),
      ocr: {
        ...found('ocr', 'Read the text of an image or a PDF file'),
        columns: ['filename', 'ocr'],
      },
      categorize: found('categorize', 'Tell conversations from feeds'),
      conversation: found(
        'conversation',
        'Extract what was written, without quotations and signatures',
      ),
      'sentiment-feedback': feedback('sentiment', 'Correct the sentiment of a text or message'),
      'signature-feedback': feedback('signature', 'Report a wrong signature'),
      'ocr-feedback': feedback('ocr', 'Report a wrong text of a file'),
      'categorize-feedback': feedback('categorize', 'Correct the category of a message'),
      'conversation-feedback': feedback('conversation', 'Report a wrong conversation'),
    },
  },
  outbox: {
    summary: 'Messages sent in the background, now or later; the id is the job_status_id',
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
    summary: 'Messages sent at once; the response reports the result',
    columns: ['id', 'date', 'to', 'subject', 'thread_id'],
    actions: {
      post: call('POST /send', 'Send a message, or a stored draft by its draft_id and version', {
        body: true,
      }),
    },
  },
  threads: {
    summary: 'Conversations of the account',
    columns: ['id', 'last_message_timestamp', 'participants', 'subject', 'unread'],
    actions: {
      get: list('/threads', 'threads'),
      put: change('PUT', '/threads', 'flags, folder or labels of all messages of a thread'),
      search: call('GET /threads/search', 'Search them: --q="from:bo zeppelin"'),
    },
  },
};
