const DAY_S = 86_400;

/** Query parameters of a list. */
export type Values = Readonly<Record<string, string>>;

const nowS = () => Math.round(Date.now() / 1_000);

/**
 * Filters that messages and threads share.
 * @param own address of the account, which is in every message
 */
const filtersOfMail = (own: string, count: number): Values[] => {
  const middle = String(nowS() - Math.round((count * 600) / 2));
  const early = String(nowS() - count * 600 + DAY_S);
  return [
    {},
    { view: 'ids', limit: '1000' },
    { view: 'expanded' },
    { offset: '1000' },
    { in: 'inbox' },
    { in: 'inbox', unread: 'true' },
    { in: 'project 0' },
    { in: 'project 13' },
    { in: 'spam', unread: 'false' },
    { in: 'nowhere' },
    { not_in: 'trash' },
    { not_in: 'inbox' },
    { unread: 'true' },
    { unread: 'false' },
    { starred: 'true' },
    { unread: 'true', starred: 'true' },
    { from: '1@elsewhere.test' },
    { from: '1900@elsewhere.test' },
    { from: own },
    { from: 'nobody@elsewhere.test' },
    { to: own },
    { to: '3@elsewhere.test' },
    { cc: 'cc-5@elsewhere.test' },
    { cc: own },
    { bcc: 'bcc@elsewhere.test' },
    { any_email: '1@elsewhere.test,1900@elsewhere.test' },
    { any_email: own },
    { from: '1@elsewhere.test', in: 'inbox', unread: 'true' },
    { subject: 'Figures of month 100' },
    { filename: 'image001.png' },
    { filename: 'report-7.pdf' },
    { started_before: middle },
    { started_before: early },
    { started_after: middle },
    { last_message_before: middle },
    { last_message_before: early },
    { last_message_after: middle },
    { started_after: early, last_message_before: middle },
  ];
};

/**
 * Lists by path, with every filter for frequent, rare and absent values.
 * @param count as given to `seedLists`
 */
export const listsOf = (own: string, count: number): Readonly<Record<string, Values[]>> => {
  const middle = String(nowS() - Math.round((count * 600) / 2));
  return {
    '/messages': [
      ...filtersOfMail(own, count),
      { has_attachment: 'true' },
      { has_attachment: 'false', in: 'archive' },
      { received_before: middle },
      { received_after: middle },
      { in: 'inbox', received_before: middle },
      { metadata_pair: 'case:c3' },
      { metadata_key: 'nothing' },
      { from: '1@elsewhere.test', has_attachment: 'true' },
      { in: 'drafts' },
    ],
    '/threads': [
      ...filtersOfMail(own, count),
      { last_updated_after: String(nowS() - DAY_S) },
      { last_updated_before: String(nowS() - DAY_S) },
    ],
    '/drafts': [{}, { view: 'ids' }, { view: 'count' }],
    '/files': [
      {},
      { offset: '5000' },
      { filename: 'image001.png' },
      { filename: 'report-7.pdf' },
      { content_type: 'image/png' },
      { content_type: 'text/nothing' },
    ],
    '/labels': [{}, { view: 'count' }],
    '/contacts': [
      {},
      { email: '77@elsewhere.test' },
      { phone_number: '77' },
      { state: 's3' },
      { country: 'de' },
      { source: 'address_book' },
      { state: 's3', country: 'de', source: 'inbox' },
    ],
    '/contacts/groups': [{}],
  };
};

/** Lists that must read everything. They are shown, but have no promised speed. */
export const wholeOf = (own: string): Readonly<Record<string, Values[]>> => ({
  '/messages': [
    { view: 'count' },
    { view: 'count', in: 'inbox' },
    { view: 'count', unread: 'true' },
    { view: 'count', to: own },
    { view: 'count', from: '1@elsewhere.test' },
    { view: 'count', has_attachment: 'true' },
    { view: 'count', not_in: 'trash' },
    { offset: '50000' },
    { in: 'inbox', offset: '20000' },
  ],
  '/threads': [
    { view: 'count' },
    { view: 'count', in: 'inbox' },
    { view: 'count', unread: 'true' },
    { view: 'count', from: '1@elsewhere.test' },
    { offset: '20000' },
  ],
  '/files': [{ view: 'count' }],
  '/contacts': [{ view: 'count' }, { offset: '50000' }],
});
