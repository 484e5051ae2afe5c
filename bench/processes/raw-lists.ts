import { unpackText } from '../../src/mail/messages/contents/packed-text.ts';
/** A row as the driver reads it. */
export interface Row {
  [column: string]: unknown;
}

/** A list of the comparison for reading. */
export interface List {
  /** The statement, without limit and offset. Its only parameter is the account. */
  text: string;
  /** The item in the response. */
  view: (row: Row) => object;
}

const seconds = (value: unknown): number => Math.floor((value as Date).getTime() / 1000);
const secondsOrNull = (value: unknown): number | null => (value === null ? null : seconds(value));

/** Addresses in the order of the response's names. */
const addresses = (value: unknown) => (value as Row[]).map(({ email, name }) => ({ email, name }));

const MESSAGES: List = {
  text: `
    select m.id, m.account_id, m.thread_id, m.subject, m.snippet, m.date, m.from_addresses, m.to_addresses,
      m.cc_addresses, m.bcc_addresses, m.reply_to_addresses, m.unread, m.starred, m.metadata, c.body, c.bytes,
      coalesce(m.reply_to_message_id, (
        select r.id from message r
        where r.account_id = m.account_id and r.message_id_header = m.in_reply_to and not r.draft
        order by r.id limit 1)) as reply_to_message_id,
      (select json_agg(json_build_object('id', f.id, 'filename', f.filename, 'content_type', f.content_type,
                'content_disposition', f.content_disposition, 'size', f.size) order by f.part)
       from file f where f.message_id = m.id) as files,
      (select json_build_object('id', f.id, 'name', f.name, 'display_name', f.display_name)
       from message_folder o join folder f on f.id = o.folder_id
       where o.message_id = m.id and not f.deleting order by f.id limit 1) as folder
    from message m left join message_content c on c.account_id = $1 and c.message_id = m.id
    where m.account_id = $1 and not m.draft order by m.date desc, m.id desc`,
  view: (row) => ({
    id: row['id'],
    object: 'message',
    account_id: row['account_id'],
    thread_id: row['thread_id'],
    subject: row['subject'],
    snippet: row['snippet'],
    body: unpackText({ packed: row['body'] as Buffer, bytes: row['bytes'] as number }),
    date: seconds(row['date']),
    from: addresses(row['from_addresses']),
    to: addresses(row['to_addresses']),
    cc: addresses(row['cc_addresses']),
    bcc: addresses(row['bcc_addresses']),
    reply_to: addresses(row['reply_to_addresses']),
    unread: row['unread'],
    starred: row['starred'],
    events: [],
    files: row['files'] ?? [],
    folder: row['folder'],
    reply_to_message_id: row['reply_to_message_id'],
    metadata: row['metadata'],
  }),
};

const THREADS: List = {
  text: `
    select t.*, s.people, s.message_ids, s.snippet, s.has_attachments,
      array(select d.id from message d where d.thread_id = t.id and d.draft and not d.deleting
            order by d.date, d.id) as draft_ids,
      (select json_agg(json_build_object('id', f.id, 'name', f.name, 'display_name', f.display_name) order by f.id)
       from folder f where f.id = any(t.folder_ids) and not f.deleting) as folders
    from thread t join thread_summary s on s.thread_id = t.id
    where t.account_id = $1 and t.message_count > 0 order by t.last_message_at desc, t.id desc`,
  view: (row) => ({
    id: row['id'],
    object: 'thread',
    account_id: row['account_id'],
    subject: row['subject'],
    participants: addresses(row['people']),
    first_message_timestamp: seconds(row['first_message_at']),
    last_message_timestamp: seconds(row['last_message_at']),
    last_message_received_timestamp: secondsOrNull(row['last_received_at']),
    last_message_sent_timestamp: secondsOrNull(row['last_sent_at']),
    snippet: row['snippet'],
    unread: row['unread'],
    starred: row['starred'],
    has_attachments: row['has_attachments'],
    version: row['version'],
    folders: row['folders'] ?? [],
    message_ids: row['message_ids'],
    draft_ids: row['draft_ids'],
  }),
};

const EVENTS: List = {
  text: `
    select e.* from event e
    where e.account_id = $1 and e.status <> 'cancelled' order by e.starts_at, e.id`,
  view: (row) => {
    const recurrence = row['recurrence'] as { rrule: string[]; timezone: string } | null;
    const when = row['when_value'] as { object: string; start_time: number; end_time: number };
    const zone = recurrence?.timezone ?? 'UTC';
    return {
      id: row['id'],
      object: 'event',
      account_id: row['account_id'],
      calendar_id: row['calendar_id'],
      message_id: row['message_id'],
      ical_uid: row['ical_uid'],
      title: row['title'],
      description: row['description'],
      location: row['location'],
      owner: '',
      organizer_email: row['organizer_email'],
      organizer_name: row['organizer_name'],
      participants: (row['participants'] as Row[]).map((one) => ({
        email: one['email'],
        name: one['name'],
        status: one['status'],
        comment: one['comment'],
        phone_number: one['phone_number'],
      })),
      read_only: row['read_only'],
      when: {
        object: when.object,
        start_time: when.start_time,
        end_time: when.end_time,
        start_timezone: zone,
        end_timezone: zone,
      },
      busy: row['busy'],
      status: row['status'],
      visibility: row['visibility'],
      hide_participants: row['hide_participants'],
      ...(recurrence && {
        recurrence: { rrule: recurrence.rrule, timezone: recurrence.timezone },
      }),
      ...(row['master_event_id'] ? { master_event_id: row['master_event_id'] } : {}),
      ...(row['original_start'] ? { original_start_time: seconds(row['original_start']) } : {}),
      conferencing: row['conferencing'],
      reminders: row['reminders'],
      notifications: row['notifications'],
      metadata: row['metadata'],
      event_collection_id: row['event_collection_id'],
      capacity: row['capacity'],
      round_robin_order: row['round_robin_order'],
      customer_event_id: row['customer_event_id'],
      updated_at: seconds(row['updated_at']),
    };
  },
};

const JOBS: List = {
  text: `
    select s.*, o.content from job_status s left join outbox_message o on o.id = s.id
    where s.account_id = $1 order by s.id desc`,
  view: (row) => {
    const times = {
      send_at: seconds(row['send_at']),
      original_send_at: seconds(row['original_send_at']),
    };
    return {
      job_status_id: row['id'],
      id: null,
      account_id: row['account_id'],
      action: row['action'],
      object: row['object'],
      status: row['status'],
      created_at: seconds(row['created_at']),
      ...times,
      message_id: null,
      thread_id: null,
      route: row['route'],
      metadata: null,
      original_data: {
        ...(row['content'] as object),
        ...times,
        retry_limit_datetime: seconds(row['retry_limit_at']),
      },
    };
  },
};

/** The lists by path. Each runs one statement with an index, and sends what the product sends. */
export const LISTS: Readonly<Record<string, List>> = {
  '/messages': MESSAGES,
  '/threads': THREADS,
  '/events': EVENTS,
  '/job-statuses': JOBS,
};
