import { newId } from '../../base/ids/ids.ts';
import type { Sql } from '../../database/sql.ts';

/** How long a mail waits for the changes of other webhooks, so that it reports them as well. */
export const COLLECT_MS = 60_000;
/** Least time between two mails to the contact address of one application. */
export const BETWEEN_MAILS_MS = 3_600_000;

const SCHEDULE = `
  insert into webhook_mail as m (application_id, mail_id, due_at)
  select a.id, n.mail_id, $3 from unnest($1::uuid[], $2::uuid[]) n(application_id, mail_id)
  join application a on a.id = n.application_id and a.contact_email is not null
  order by a.id
  on conflict (application_id) do update set
    changes = m.changes + 1,
    due_at = coalesce(m.due_at, greatest(excluded.due_at, m.sent_at + interval '${BETWEEN_MAILS_MS} ms'))`;

/**
 * Schedules a mail for each application that has a contact address, in the caller's transaction:
 * in a minute, or an hour after its last mail if that is later. A mail that is due already reports
 * the change, too.
 */
export async function scheduleWebhookMails(
  sql: Sql,
  applicationIds: readonly string[],
  at: Date,
): Promise<void> {
  const ids = [...new Set(applicationIds)];
  if (ids.length === 0) return;
  await sql.query(SCHEDULE, [ids, ids.map(newId), new Date(at.getTime() + COLLECT_MS)]);
}
