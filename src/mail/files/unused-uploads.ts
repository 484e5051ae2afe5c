/**
 * SQL: whether nothing carries an upload `f`: no draft, and no message of the outbox that is still to be sent. In a statement of
 * its own, behind the lock of the row: whoever makes something carry it holds the row meanwhile.
 */
export const IS_UNUSED = `
  not exists (select 1 from draft_file d where d.file_id = f.id)
  and not exists (
    select 1 from outbox_message o join send_job j on j.id = o.id
    where o.content -> 'file_ids' @> jsonb_build_array(f.id::text)
      and o.account_id = f.account_id)`;
