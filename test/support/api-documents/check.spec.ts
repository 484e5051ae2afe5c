import { checkedAnswer, checkedRequest } from './check.ts';

const query = (text: string) => new URLSearchParams(text);

describe('requests checked against the documents of Google and Microsoft', () => {
  it('accepts documented requests', () => {
    expect(
      [
        checkedRequest('gmail', {
          method: 'GET',
          path: '/gmail/v1/users/me/messages',
          query: query('labelIds=INBOX&labelIds=UNREAD&maxResults=500&includeSpamTrash=true'),
        }),
        checkedRequest('gmail', {
          method: 'POST',
          path: '/gmail/v1/users/me/messages/send',
          body: { raw: 'QUJD', threadId: '18c' },
        }),
        checkedRequest('gmail', {
          method: 'POST',
          path: '/upload/gmail/v1/users/me/messages/send',
          query: query('uploadType=media'),
        }),
        checkedRequest('calendar', {
          method: 'PATCH',
          path: '/calendar/v3/calendars/primary/events/e1',
          query: query('sendUpdates=all&conferenceDataVersion=1'),
          body: { start: { date: null, dateTime: '2026-11-23T10:00:00+01:00', timeZone: 'UTC' } },
        }),
        checkedRequest('people', {
          method: 'PATCH',
          path: '/v1/people/c1:updateContact',
          query: query('updatePersonFields=names'),
          body: { etag: 'e', names: [{ givenName: 'A' }] },
        }),
        checkedRequest('people', { method: 'GET', path: '/v1/contactGroups/abc' }),
        checkedRequest('graph', {
          method: 'GET',
          path: '/v1.0/users/anna@example.test/mailFolders/inbox/messages/delta',
          query: query('$select=subject,from&$deltatoken=abc'),
        }),
        checkedRequest('graph', {
          method: 'POST',
          path: '/v1.0/me/sendMail',
          body: {
            saveToSentItems: true,
            message: {
              subject: 'A',
              body: { contentType: 'html', content: '<p>B' },
              toRecipients: [{ emailAddress: { address: 'a@b.test', name: 'A' } }],
              attachments: [
                {
                  '@odata.type': '#microsoft.graph.fileAttachment',
                  name: 'a',
                  contentBytes: 'QQ==',
                },
              ],
            },
          },
        }),
        checkedRequest('graph', {
          method: 'POST',
          path: '/v1.0/me/calendar/getSchedule',
          body: {
            schedules: ['a@b.test'],
            startTime: { dateTime: '2026-11-23T00:00:00', timeZone: 'UTC' },
            endTime: { dateTime: '2026-11-24T00:00:00', timeZone: 'UTC' },
          },
        }),
        checkedRequest('graph', {
          method: 'POST',
          path: '/v1.0/$batch',
          body: { requests: [{ id: '1', method: 'GET', url: '/me' }] },
        }),
      ].flat(),
    ).toEqual([]);
  });

  it.each([
    [
      'a wrong field name',
      'gmail',
      { method: 'POST', path: '/gmail/v1/users/me/labels', body: { nam: 'A' } },
      'has the unknown field nam',
    ],
    [
      'a wrong type',
      'gmail',
      { method: 'POST', path: '/gmail/v1/users/me/labels', body: { name: 1 } },
      'name must be string',
    ],
    [
      'an unknown path',
      'gmail',
      { method: 'GET', path: '/gmail/v1/users/me/mails' },
      'no path of gmail matches',
    ],
    [
      'a wrong method',
      'gmail',
      { method: 'PUT', path: '/gmail/v1/users/me/messages' },
      'has no method PUT',
    ],
    [
      'an unknown parameter',
      'calendar',
      {
        method: 'GET',
        path: '/calendar/v3/calendars/primary/events',
        query: query('since=1'),
      },
      'unknown parameter since',
    ],
    [
      'a parameter of a wrong type',
      'calendar',
      {
        method: 'GET',
        path: '/calendar/v3/calendars/primary/events',
        query: query('timeMin=2026-11-23'),
      },
      'must be a time with an offset',
    ],
    [
      'a missing parameter',
      'graph',
      {
        method: 'GET',
        path: '/v1.0/me/calendarView',
        query: query('endDateTime=2026-11-24T00:00:00Z'),
      },
      'no parameter startDateTime',
    ],
    [
      'an unknown property in $select',
      'graph',
      { method: 'GET', path: '/v1.0/me/messages', query: query('$select=subjet') },
      '$select must be one of',
    ],
    [
      'a wrong field deep in a body',
      'graph',
      {
        method: 'PATCH',
        path: '/v1.0/me/events/1',
        body: { attendees: [{ emailAddress: { adress: 'a@b.test' } }] },
      },
      'attendees/0/emailAddress has the unknown field adress',
    ],
    [
      'a field of another subtype',
      'graph',
      {
        method: 'POST',
        path: '/v1.0/me/messages/1/attachments',
        body: { '@odata.type': '#microsoft.graph.referenceAttachment', contentBytes: 'QQ==' },
      },
      'has the unknown field contentBytes',
    ],
    [
      'a subtype that does not exist',
      'graph',
      {
        method: 'POST',
        path: '/v1.0/me/messages/1/attachments',
        body: { '@odata.type': '#microsoft.graph.file', name: 'a' },
      },
      'must be equal to one of the allowed values',
    ],
  ] as const)('refuses %s', (_what, api, request, text) => {
    const problems = checkedRequest(api, request);
    expect(problems).toEqual([expect.stringContaining(text)]);
  });
});

describe('answers checked against the documents', () => {
  it('accepts documented answers, and errors in the form of the service', () => {
    expect(
      [
        checkedAnswer('gmail', {
          method: 'GET',
          path: '/gmail/v1/users/me/profile',
          status: 200,
          body: { emailAddress: 'a@b.test', messagesTotal: 1, threadsTotal: 1, historyId: '5' },
        }),
        checkedAnswer('gmail', {
          method: 'GET',
          path: '/gmail/v1/users/me/messages/1',
          status: 404,
          body: { error: { code: 404, message: 'Not Found', status: 'NOT_FOUND' } },
        }),
        checkedAnswer('calendar', { method: 'DELETE', path: '/calendars/a/events/b', status: 204 }),
        checkedAnswer('graph', { method: 'POST', path: '/v1.0/me/sendMail', status: 202 }),
        checkedAnswer('graph', {
          method: 'GET',
          path: '/v1.0/me/mailFolders/inbox/messages/delta',
          status: 200,
          body: {
            '@odata.context': 'https://graph.example.test/$metadata',
            '@odata.deltaLink': 'https://graph.example.test/next',
            value: [
              { '@odata.etag': 'W/"1"', id: '1', subject: null, flag: { flagStatus: 'flagged' } },
              { '@removed': { reason: 'deleted' }, id: '2' },
              {
                '@odata.type': '#microsoft.graph.eventMessageRequest',
                id: '3',
                meetingMessageType: 'meetingRequest',
              },
            ],
          },
        }),
      ].flat(),
    ).toEqual([]);
  });

  it.each([
    ['an unknown field', 'gmail', '/gmail/v1/users/me/profile', 200, { email: 'a@b.test' }],
    ['a number for an id', 'gmail', '/gmail/v1/users/me/profile', 200, { historyId: 5 }],
    ['a missing body', 'gmail', '/gmail/v1/users/me/profile', 200, undefined],
    [
      'null where Google leaves a field out',
      'gmail',
      '/gmail/v1/users/me/profile',
      200,
      { historyId: null },
    ],
    ['an error of another form', 'people', '/v1/people/me', 404, { message: 'gone' }],
    ['an error of another form', 'graph', '/v1.0/me/messages/1', 404, { error: 'gone' }],
    ['any object where null is allowed', 'graph', '/v1.0/me/messages/1', 200, { from: { a: 1 } }],
    ['an unknown value', 'graph', '/v1.0/me/messages/1', 200, { importance: 'higher' }],
  ] as const)('refuses %s', (_what, api, path, status, body) => {
    expect(checkedAnswer(api, { method: 'GET', path, status, body })).not.toEqual([]);
  });
});
