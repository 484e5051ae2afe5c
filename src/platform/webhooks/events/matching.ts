/**
 * SQL condition: a webhook subscribes to the trigger of an event of its application. Its filters
 * and its state are not part of it.
 * @param webhook alias of a row of `webhook`
 * @param event alias of a row with `application_id` and `type`, as `webhook_event` has them
 */
export const subscribes = (webhook: string, event: string): string =>
  `${webhook}.application_id = ${event}.application_id and ${triggers(webhook, event)}`;

// With another collation than that of the column, no index can be used for it. PostgreSQL does not
// know how many triggers a webhook has and expects ten descents of `webhook_event_of_account` for
// them. It would read the events of all accounts of the application instead (docs/adr/0159).
const triggers = (webhook: string, event: string): string =>
  `${event}.type collate "C" = any(${webhook}.triggers)`;

/** SQL condition: the filters of a webhook compare more than the account of an event. */
export const filtersObjects = (webhook: string): string =>
  `(${webhook}.filter_folders is not null or ${webhook}.filter_domains is not null)`;

/**
 * SQL condition: a webhook wants an event. The only place that decides it, for every use of events:
 * what is stored, delivered and shown in a feed. The state of the webhook is not part of it.
 * @param webhook alias of a row of `webhook`
 * @param event alias of a row with `application_id`, `account_id`, `type`, `folders` and
 *   `from_domains`, as `webhook_event` has them
 */
export const wants = (webhook: string, event: string): string => `
  ${webhook}.application_id = ${event}.application_id and ${matches(webhook, event)}`;

/** The same for an event of the webhook's application. */
const matches = (webhook: string, event: string): string => `
  ${triggers(webhook, event)}
  and (${webhook}.filter_accounts is null or ${event}.account_id = any(${webhook}.filter_accounts))
  and (${webhook}.filter_folders is null or ${event}.folders && ${webhook}.filter_folders)
  and (${webhook}.filter_domains is null or ${event}.from_domains && ${webhook}.filter_domains)`;

/**
 * SQL condition: the scopes of an account allow events about it.
 * @param account SQL of its id
 * @param scopes SQL of the scopes of which it needs one, separated by commas; `null` = it needs
 *   none
 */
export const scopesAllow = (account: string, scopes: string): string => `
  (${scopes} is null or not exists (
    select 1 from "grant" g left join integration i on i.id = g.integration_id
    where g.id = ${account}
      and not (coalesce(coalesce(g.scope, i.scope) && string_to_array(${scopes}, ','), true)
               and coalesce(g.granted_scope && string_to_array(${scopes}, ','), true))))`;

/**
 * How much the times of events may contradict their numbers at most: releases before dated events
 * with the beginning of their transaction. If an event is older than that, so are all events with
 * lower numbers.
 */
const ORDERS_DIFFER = `interval '5 minutes'`;

// The newest event of the webhook's triggers usually is the one that is looked for. It is found in
// the index `webhook_event_of_account`, which has the triggers. Otherwise its age tells whether the
// events before it need to be read at all (docs/adr/0159).
/**
 * SQL of the number of the previous event of the same account that a webhook wants; `null` if none
 * is stored.
 * @param webhook alias of a row of `webhook`
 * @param event alias of a row of `webhook_event` of the same application
 */
export const previousSeq = (webhook: string, event: string): string => `
  (select case when newest.wanted then newest.seq when newest.created_at >= ${webhook}.subscribed_at - ${ORDERS_DIFFER} then (
     select previous.seq from webhook_event previous
     where previous.account_id = ${event}.account_id and previous.seq < newest.seq
       and previous.created_at >= ${webhook}.subscribed_at and ${matches(webhook, 'previous')}
     order by previous.seq desc limit 1) end
   from (select n.seq, n.created_at, n.created_at >= ${webhook}.subscribed_at and ${matches(webhook, 'n')} as wanted
         from webhook_event n
         where n.account_id = ${event}.account_id and n.seq < ${event}.seq and n.type = any(${webhook}.triggers)
         order by n.seq desc limit 1) newest)`;

/**
 * Beginning of the type of a test event; the id of the one webhook whose feed has it follows. No
 * subscription names such a type, so no other webhook gets the event.
 */
export const TEST_TYPE = 'test:';

/**
 * SQL condition: an event is in the feed of a webhook of its application. It wants the event, or it
 * is a test event of this webhook.
 * @param webhook alias of a row of `webhook`
 * @param event alias of a row of `webhook_event` of the same application
 */
export const inFeed = (webhook: string, event: string): string => `
  (${event}.created_at >= ${webhook}.subscribed_at
   and (${wants(webhook, event)} or ${event}.type = '${TEST_TYPE}' || ${webhook}.id))`;
