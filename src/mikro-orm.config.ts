import { fileURLToPath } from 'node:url';
import { Migrator } from '@mikro-orm/migrations';
import { defineConfig, type Options } from '@mikro-orm/postgresql';
import { Application } from './applications/application.entity.ts';
import { FailedAttempt } from './auth/failed-attempt.entity.ts';
import { Calendar } from './calendars/calendar.entity.ts';
import { ConferencingService } from './conferencing/conferencing-service.entity.ts';
import { EventMeeting } from './conferencing/event-meeting.entity.ts';
import { AuthorizationCode } from './connect/authorization-code.entity.ts';
import { LoginRequest } from './connect/login-request.entity.ts';
import { Contact, ContactGroup, ContactKey } from './contacts/contact.entity.ts';
import { Change } from './deltas/change.entity.ts';
import { PrunedChanges } from './deltas/pruned-changes.entity.ts';
import { DraftFile } from './drafts/draft-file.entity.ts';
import { Event } from './events/event.entity.ts';
import { FileChunk, FileData } from './files/file-data.entity.ts';
import { File } from './files/file.entity.ts';
import { CalendarFeed } from './feeds/calendar-feed.entity.ts';
import { Folder } from './folders/folder.entity.ts';
import { AccessToken } from './grants/access-token.entity.ts';
import { AddressLoop } from './grants/address-loop.entity.ts';
import { Grant } from './grants/grant.entity.ts';
import { Integration } from './integrations/integration.entity.ts';
import { IdempotencyKey } from './idempotency/idempotency-key.entity.ts';
import { Invitation } from './invitations/invitation.entity.ts';
import { JobAttempt } from './job-statuses/job-attempt.entity.ts';
import { JobStatus } from './job-statuses/job-status.entity.ts';
import { ProviderJob } from './job-statuses/provider-job.entity.ts';
import { RunningProcess } from './keys/running-process.entity.ts';
import { SealingKey } from './keys/sealing-key.entity.ts';
import { MessageFolder } from './messages/message-folder.entity.ts';
import { Message, MessageBody } from './messages/message.entity.ts';
import { NeuralFeedback } from './neural/neural-feedback.entity.ts';
import { ReminderContent } from './notifications/reminder-content.entity.ts';
import { ReminderJob } from './notifications/reminder-job.entity.ts';
import { Reminder } from './notifications/reminder.entity.ts';
import { OutboxMessage } from './outbox/outbox-message.entity.ts';
import { SendJob } from './outbox/send-job.entity.ts';
import {
  SandboxAddressBook,
  SandboxCalendar,
  SandboxContact,
  SandboxEvent,
  SandboxFault,
  SandboxFolder,
  SandboxMailbox,
  SandboxMessage,
} from './providers/sandbox/sandbox.entity.ts';
import { QuotaUse } from './quotas/quota-use.entity.ts';
import { Relay } from './relay/relay.entity.ts';
import { RelaySender } from './relay/relay-sender.entity.ts';
import { MeetingState } from './rsvp/meeting-state.entity.ts';
import { AccountGate } from './scheduler/account-gate.entity.ts';
import { Instance } from './scheduler/instance.entity.ts';
import { Worker } from './scheduler/worker.entity.ts';
import { MessageSearch, SearchBacklog } from './search/message-search.entity.ts';
import { SmsMessage } from './sms/sms-message.entity.ts';
import { MailboxWatch } from './sync/mailbox-watch.entity.ts';
import { SyncFailure } from './sync/sync-failure.entity.ts';
import { SyncJob } from './sync/sync-job.entity.ts';
import { ThreadReference } from './sync/thread-reference.entity.ts';
import { VanishedMessage } from './sync/vanished-message.entity.ts';
import { Thread, ThreadPerson, ThreadSummary } from './threads/thread.entity.ts';
import { TrackedMessage } from './tracking/tracked-message.entity.ts';
import { HookJob } from './webhooks/hook-job.entity.ts';
import { WebhookAttempt } from './webhooks/webhook-attempt.entity.ts';
import { WebhookEvent } from './webhooks/webhook-event.entity.ts';
import { Webhook } from './webhooks/webhook.entity.ts';

/** Every table of the schema: `npm run db:check` compares them with the migrations. */
export const entities = [
  Application, Integration, AddressLoop, Grant, AccessToken, AuthorizationCode, LoginRequest, FailedAttempt,
  Webhook, WebhookEvent, WebhookAttempt, HookJob,
  JobStatus, JobAttempt, ProviderJob, OutboxMessage, SendJob, IdempotencyKey, Relay, RelaySender,
  ConferencingService, EventMeeting,
  Folder, Thread, ThreadSummary, ThreadPerson, Message, MessageBody, MessageFolder, File, FileData, FileChunk, DraftFile,
  MessageSearch, SearchBacklog, NeuralFeedback,
  Contact, ContactKey, ContactGroup,
  Calendar, CalendarFeed, Event, Invitation, MeetingState, Reminder, ReminderContent, ReminderJob, SmsMessage, QuotaUse,
  Worker, AccountGate, Instance, SealingKey, RunningProcess, SyncJob, SyncFailure, MailboxWatch, ThreadReference, VanishedMessage,
  Change, PrunedChanges, TrackedMessage,
  SandboxMailbox, SandboxMessage, SandboxCalendar, SandboxEvent, SandboxFault, SandboxFolder,
  SandboxAddressBook, SandboxContact,
]; // prettier-ignore

const compiled = import.meta.url.includes('/dist/');

/** Options of the ORM for one database. @param poolSize connections at most */
export function ormConfig(url: string, poolSize: number): Options {
  return defineConfig({
    clientUrl: url,
    entities,
    extensions: [Migrator],
    migrations: {
      path: fileURLToPath(new URL('../migrations', import.meta.url)),
      pathTs: fileURLToPath(new URL(compiled ? '../../migrations' : '../migrations', import.meta.url)),
      snapshot: false,
      emit: 'ts',
      silent: true,
    },
    pool: { min: 0, max: poolSize },
    forceUtcTimezone: true,
  });
}

/** For the ORM's own command line: `DATABASE_URL=… npx mikro-orm …`. */
export default ormConfig(process.env['DATABASE_URL'] ?? 'postgresql://localhost/carillon', 4);
