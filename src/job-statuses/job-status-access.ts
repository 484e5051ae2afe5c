import { allows, type Scope, SCOPES_FOR } from '../platform/auth/scopes.ts';
import { JOB_ACTIONS, type JobAction } from './job-status.ts';

/**
 * Scopes that allow reading a job status: those that allow reading or changing its object. One of
 * them is enough.
 */
const SEEN_BY: Readonly<Record<JobAction, readonly Scope[]>> = {
  // Job statuses of sent messages contain the messages.
  new_outbox: SCOPES_FOR.sendMail,
  send_message: SCOPES_FOR.sendMail,
  save_sent_email: SCOPES_FOR.sendMail,
  update_message: SCOPES_FOR.mailJobStatuses,
  save_draft: SCOPES_FOR.readDrafts,
  delete_draft: SCOPES_FOR.readDrafts,
  create_folder: SCOPES_FOR.readFolders,
  update_folder: SCOPES_FOR.readFolders,
  delete_folder: SCOPES_FOR.readFolders,
  create_label: SCOPES_FOR.readFolders,
  update_label: SCOPES_FOR.readFolders,
  delete_label: SCOPES_FOR.readFolders,
  create_calendar: SCOPES_FOR.readCalendar,
  update_calendar: SCOPES_FOR.readCalendar,
  delete_calendar: SCOPES_FOR.readCalendar,
  create_event: SCOPES_FOR.readCalendar,
  update_event: SCOPES_FOR.readCalendar,
  delete_event: SCOPES_FOR.readCalendar,
  notify_participants: SCOPES_FOR.readCalendar,
  send_invitation: SCOPES_FOR.readCalendar,
  create_contact: SCOPES_FOR.readContacts,
  update_contact: SCOPES_FOR.readContacts,
  delete_contact: SCOPES_FOR.readContacts,
};

/** The actions whose job statuses may be read with these scopes; `null` = all actions. */
export function readableActions(scopes: readonly Scope[] | null): readonly JobAction[] | null {
  return scopes && JOB_ACTIONS.filter((action) => allows(scopes, SEEN_BY[action]));
}
