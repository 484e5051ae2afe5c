import type { AppConfig } from '../../platform/config/app-config.ts';
import type { Retention } from './capacity.ts';

const fixed = (what: string, tables: string[], kept: string): Retention => ({
  what,
  tables,
  kept,
  setting: null,
});

/** What grows and how long it is kept, largest tables first. */
export function retentionOf(
  config: Pick<AppConfig, 'auditLogDays' | 'sync' | 'uploads'>,
): Retention[] {
  const { horizonDays } = config.sync;
  return [
    {
      what: 'Mirrored mail',
      tables: [
        'message',
        'message_content',
        'message_body',
        'search_document',
        'message_search',
        'message_folder',
        'thread',
        'thread_summary',
        'thread_person',
        'thread_reference',
        'file',
      ],
      kept:
        horizonDays === 0
          ? 'all mail of a mailbox, as long as its account is connected'
          : `mail received in the last ${horizonDays} days; mail mirrored earlier stays until it is deleted at the provider or its account is removed`,
      setting: 'SYNC_HORIZON_DAYS',
    },
    fixed(
      'Messages accepted for sending, with their text, and their jobs',
      ['outbox_message', 'job_status'],
      'as long as the account is connected: nothing deletes them earlier',
    ),
    fixed(
      'Events, calendars and contacts',
      ['event', 'calendar', 'contact', 'contact_key', 'reminder', 'reminder_content', 'invitation'],
      'as long as the account is connected',
    ),
    {
      what: 'Uploads and files of drafts',
      tables: ['file_data', 'file_chunk', 'draft_file'],
      kept: `uploads that no message uses: 7 days, at most ${config.uploads.mostUnusedBytes / 1024 / 1024} MB for each account; others with their draft`,
      setting: 'UNUSED_UPLOADS_MB',
    },
    fixed('Change log', ['change'], '14 days'),
    fixed(
      'Events for webhooks',
      ['webhook_event'],
      '7 days, and until they are delivered or given up',
    ),
    fixed('Attempts to deliver webhooks', ['webhook_attempt'], '30 days'),
    fixed('Attempts of jobs', ['job_attempt'], '30 days'),
    fixed('Tracking of messages', ['tracked_message'], '90 days after the message was sent'),
    fixed('Access tokens that ended', ['access_token'], '30 days'),
    fixed('Use of quotas', ['quota_use'], '31 days'),
    fixed('Use of the APIs of Google and Microsoft', ['api_use'], '400 days'),
    fixed('Ceilings of applications', ['api_ceiling'], 'until the application is deleted'),
    fixed('Idempotency keys', ['idempotency_key'], '24 hours'),
    fixed('Mails that prove addresses', ['address_loop'], '7 days'),
    {
      what: 'Audit log',
      tables: ['audit_entry'],
      kept: `${config.auditLogDays} days`,
      setting: 'AUDIT_LOG_DAYS',
    },
    fixed('Sizes of tables', ['table_sample'], '90 days'),
    fixed('Counts of requests, by route and error', ['request_count'], 'an hour'),
    fixed('Workers that were lost', ['lost_worker'], '24 hours'),
    fixed('Records of deleted applications', ['application_deletion'], '90 days'),
  ];
}
