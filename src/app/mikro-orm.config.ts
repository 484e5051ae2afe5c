import { fileURLToPath } from 'node:url';
import { Migrator } from '@mikro-orm/migrations';
import { defineConfig, type Options } from '@mikro-orm/postgresql';
import { connectionTo } from '../platform/database/database-hosts.ts';
import { setOwnerEntities } from '../platform/database/owner-keys.ts';
import { AccountFill } from '../platform/account-fills/account-fill.entity.ts';
import { Application } from '../accounts/applications/application.entity.ts';
import { RequestCount } from '../platform/request-counts/request-count.entity.ts';
import { TableMove } from '../platform/moves/table-move.entity.ts';
import { Refusal } from '../platform/refusals/refusal.entity.ts';
import { FailedAttempt } from '../platform/auth/failed-attempt.entity.ts';
import { Calendar } from '../calendar/calendars/calendar.entity.ts';
import { ConferencingService } from '../calendar/conferencing/conferencing-service.entity.ts';
import { EventMeeting } from '../calendar/conferencing/event-meeting.entity.ts';
import { AuthorizationCode } from '../accounts/connect/oauth/authorization-code.entity.ts';
import { LoginRequest } from '../accounts/connect/links/login-request.entity.ts';
import { Contact, ContactGroup, ContactKey } from '../contacts/contact.entity.ts';
import { Change } from '../platform/changes/change.entity.ts';
import { PrunedChanges } from '../platform/changes/pruned-changes.entity.ts';
import { DraftFile } from '../mail/drafts/draft-file.entity.ts';
import { Event } from '../calendar/events/event.entity.ts';
import { FileChunk, FileData } from '../mail/files/file-data.entity.ts';
import { File } from '../mail/files/file.entity.ts';
import { CalendarFeed } from '../calendar/feeds/calendar-feed.entity.ts';
import { Folder } from '../mail/folders/folder.entity.ts';
import { AccessToken } from '../accounts/grants/tokens/access-token.entity.ts';
import { AddressLoop } from '../accounts/grants/proofs/address-loop.entity.ts';
import { Grant } from '../accounts/grants/grant.entity.ts';
import { Integration } from '../accounts/integrations/integration.entity.ts';
import { PushPull } from '../accounts/push/push-pull.entity.ts';
import { PushSubscription } from '../accounts/push/push-subscription.entity.ts';
import { IdempotencyKey } from '../platform/idempotency/idempotency-key.entity.ts';
import { Invitation } from '../calendar/invitations/invitation.entity.ts';
import { JobAttempt } from '../job-statuses/job-attempt.entity.ts';
import { JobStatus } from '../job-statuses/job-status.entity.ts';
import { ProviderJob } from '../accounts/provider-writes/provider-job.entity.ts';
import { RunningProcess } from './keys/running-process.entity.ts';
import { SealingKey } from './keys/sealing-key.entity.ts';
import { MessageFolder } from '../mail/messages/message-folder.entity.ts';
import { LogLevel } from '../platform/log-level/log-level.entity.ts';
import { ObjectDeletion } from '../mail/messages/objects/object-deletion.entity.ts';
import { ObjectOrphan } from '../mail/messages/objects/object-orphan.entity.ts';
import { ObjectSweep } from '../mail/messages/objects/object-sweep.entity.ts';
import { ObjectUpload } from '../mail/messages/objects/object-upload.entity.ts';
import { MessageBody, MessageContent } from '../mail/messages/contents/message-content.entity.ts';
import { Message } from '../mail/messages/message.entity.ts';
import { NeuralFeedback } from '../mail/neural/neural-feedback.entity.ts';
import { ReminderContent } from '../calendar/notifications/reminder-content.entity.ts';
import { ReminderJob } from '../calendar/notifications/reminder-job.entity.ts';
import { Reminder } from '../calendar/notifications/reminder.entity.ts';
import { OutboxMessage } from '../mail/outbox/outbox-message.entity.ts';
import { SendJob } from '../mail/outbox/send-job.entity.ts';
import {
  SandboxAddressBook,
  SandboxCalendar,
  SandboxContact,
  SandboxEvent,
  SandboxFault,
  SandboxFolder,
  SandboxMailbox,
  SandboxMessage,
} from '../providers/sandbox/sandbox.entity.ts';
import { ApiCeiling } from '../platform/budgets/api-ceiling.entity.ts';
import { ApiUse } from '../platform/budgets/api-use.entity.ts';
import { ProviderBucket } from '../platform/budgets/provider-bucket.entity.ts';
import { QuotaUse } from '../platform/quotas/quota-use.entity.ts';
import { Relay } from '../mail/relay/relay.entity.ts';
import { RelaySender } from '../mail/relay/relay-sender.entity.ts';
import { MeetingState } from '../calendar/rsvp/meeting-state.entity.ts';
import { AccountGate } from '../platform/work/gates/account-gate.entity.ts';
import { Instance } from '../platform/work/workers/instance.entity.ts';
import { LostWorker } from '../platform/work/workers/lost-worker.entity.ts';
import { Worker } from '../platform/work/workers/worker.entity.ts';
import {
  MessageSearch,
  SearchDocument,
} from '../mail/messages/search-documents/search-document.entity.ts';
import { TextBacklog } from '../mail/search/text-backlog.entity.ts';
import { SmsMessage } from '../calendar/sms/sms-message.entity.ts';
import { ApplicationDeletion } from '../operator/applications/application-deletion.entity.ts';
import { TableSample } from '../operator/capacity/table-sample.entity.ts';
import { MailboxWatch } from '../sync/watches/mailbox-watch.entity.ts';
import {
  AuditedDay,
  AuditListing,
  AuditSeen,
  CandidateMessage,
} from '../mail/messages/mirror/audited-message.entity.ts';
import { AuditTotal } from '../accounts/sync-schedule/audit-total.entity.ts';
import { MirrorAudit } from '../accounts/sync-schedule/mirror-audit.entity.ts';
import { AuditedCollection } from '../sync/audit/audited-collection.entity.ts';
import { SyncFailure } from '../sync/failures/sync-failure.entity.ts';
import { SyncJob } from '../accounts/sync-schedule/sync-job.entity.ts';
import { ThreadReference } from '../mail/threading/thread-reference.entity.ts';
import { VanishedMessage } from '../mail/messages/mirror/vanished-message.entity.ts';
import { Thread, ThreadPerson, ThreadSummary } from '../mail/threading/thread.entity.ts';
import { TrackedMessage } from '../mail/tracking/tracked-message.entity.ts';
import { WebhookDelivery } from '../platform/webhooks/delivery/webhook-delivery.entity.ts';
import { WebhookAttempt } from '../platform/webhooks/delivery/webhook-attempt.entity.ts';
import { PrunedEvents } from '../platform/webhooks/events/pruned-events.entity.ts';
import { WebhookFeed } from '../platform/webhooks/events/webhook-feed.entity.ts';
import { WebhookMail } from '../platform/webhooks/mails/webhook-mail.entity.ts';
import { WebhookPosition } from '../platform/webhooks/feed/webhook-position.entity.ts';
import { WebhookEvent } from '../platform/webhooks/events/webhook-event.entity.ts';
import { AuditEntry } from '../platform/audit/audit-entry.entity.ts';
import { Operator } from '../operator/access/operator.entity.ts';
import { OperatorLink } from '../operator/access/operator-link.entity.ts';
import { OperatorSession } from '../operator/access/sessions/operator-session.entity.ts';
import { OperatorToken } from '../operator/access/operator-token.entity.ts';
import { WebhookSecret } from '../platform/webhooks/secrets/webhook-secret.entity.ts';
import { Webhook } from '../platform/webhooks/webhook.entity.ts';

/** Every table of the schema. `npm run db:check` compares them with the migrations. */
export const entities = [
  Application, Integration, AddressLoop, Grant, AccessToken, AuthorizationCode, LoginRequest, FailedAttempt, Refusal, RequestCount,
  Webhook, WebhookSecret, WebhookMail, WebhookPosition, WebhookFeed, WebhookEvent, PrunedEvents, WebhookAttempt, WebhookDelivery,
  JobStatus, JobAttempt, ProviderJob, PushSubscription, PushPull, OutboxMessage, SendJob, IdempotencyKey, Relay, RelaySender,
  ConferencingService, EventMeeting,
  ObjectUpload, ObjectDeletion, ObjectOrphan, ObjectSweep, Folder, Thread, ThreadSummary, ThreadPerson, Message, MessageContent, MessageBody, MessageFolder, File, FileData, FileChunk, DraftFile,
  MessageSearch, SearchDocument, TextBacklog, AccountFill, NeuralFeedback,
  Contact, ContactKey, ContactGroup,
  Calendar, CalendarFeed, Event, Invitation, MeetingState, Reminder, ReminderContent, ReminderJob, SmsMessage, QuotaUse, ProviderBucket, ApiUse, ApiCeiling,
  Worker, LostWorker, LogLevel, AccountGate, Instance, SealingKey, RunningProcess, SyncJob, MirrorAudit, AuditTotal, AuditListing, AuditSeen, AuditedDay, CandidateMessage, AuditedCollection, SyncFailure, MailboxWatch, ThreadReference, VanishedMessage,
  Change, PrunedChanges, TrackedMessage,
  AuditEntry, Operator, OperatorSession, OperatorLink, OperatorToken,
  SandboxMailbox, SandboxMessage, SandboxCalendar, SandboxEvent, SandboxFault, SandboxFolder,
  SandboxAddressBook, SandboxContact,
  ApplicationDeletion, TableSample, TableMove,
]; // oxfmt-ignore

setOwnerEntities({ account: Grant, application: Application });

const compiled = import.meta.url.includes('/dist/');

/**
 * Options of the ORM for one database.
 * @param url `DATABASE_URL`, which may name several hosts
 * @param poolSize maximum number of connections
 */
export function ormConfig(url: string, poolSize: number): Options {
  const target = connectionTo(url);
  return defineConfig({
    // The ORM takes the name of the database from here, and drops parameters such as sslmode.
    clientUrl: target.connectionString,
    driverOptions: target,
    entities,
    extensions: [Migrator],
    migrations: {
      path: fileURLToPath(new URL('../../migrations', import.meta.url)),
      pathTs: fileURLToPath(
        new URL(compiled ? '../../../migrations' : '../../migrations', import.meta.url),
      ),
      snapshot: false,
      emit: 'ts',
      silent: true,
    },
    // Triggers are written by hand in migrations: the audit log is append-only.
    schemaGenerator: { ignoreTriggers: true, ignoreRoutines: true },
    pool: { min: 0, max: poolSize },
    forceUtcTimezone: true,
  });
}

/** For the ORM's own command line: `DATABASE_URL=… npx mikro-orm …`. */
export default ormConfig(process.env['DATABASE_URL'] ?? 'postgresql://localhost/carillon', 4);
