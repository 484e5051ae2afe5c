/**
 * SQL condition: no draft and no unsent outbox message uses the upload `f`. Lock the row first, and
 * use the condition in a separate statement. A transaction that adds the upload to a draft or
 * message holds the same lock, and the later statement sees its commit.
 */
export const IS_UNUSED = `
  not exists (select 1 from draft_file d where d.file_id = f.id)
  and not exists (
    select 1 from outbox_message o join send_job j on j.id = o.id
    where o.content -> 'file_ids' @> jsonb_build_array(f.id::text)
      and o.account_id = f.account_id)`;
