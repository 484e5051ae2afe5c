/* The fields of the API's answers that follow from a file, so without ids and states. */

/** Fields of an answer of the API. */
export type Shown = Record<string, unknown>;

const MESSAGE = [
  'subject',
  'snippet',
  'body',
  'from',
  'to',
  'cc',
  'bcc',
  'reply_to',
  'headers',
  'warnings',
];
const FILE = ['filename', 'content_type', 'content_disposition', 'content_id', 'size'];
const EVENT = [
  'ical_uid',
  'title',
  'description',
  'location',
  'organizer_email',
  'organizer_name',
  'participants',
  'when',
  'busy',
  'status',
  'visibility',
  'recurrence',
  'original_start_time',
  'conferencing',
  'reminders',
  'warnings',
];
const CONTACT = [
  'given_name',
  'middle_name',
  'surname',
  'suffix',
  'nickname',
  'birthday',
  'company_name',
  'job_title',
  'manager_name',
  'office_location',
  'notes',
  'emails',
  'im_addresses',
  'physical_addresses',
  'phone_numbers',
  'web_pages',
  'warnings',
];

const pick =
  (keys: readonly string[]) =>
  (answer: object): Shown => {
    const fields = new Map(Object.entries(answer));
    return Object.fromEntries(
      keys.flatMap((key) => (fields.has(key) ? [[key, fields.get(key)]] : [])),
    );
  };

/** A message in the expanded view, without its files. */
export const shownMessage = pick(MESSAGE);
export const shownFile = pick(FILE);
/** An event in the expanded view. */
export const shownEvent = pick(EVENT);
const contactFields = pick(CONTACT);

/**
 * A contact in the expanded view, with the paths of its groups.
 * @param picture content type of its picture, or null
 */
export const shownContact = (
  contact: { groups: readonly { path: string }[] },
  picture: string | null,
): Shown => ({
  ...contactFields(contact),
  groups: contact.groups.map(({ path }) => path),
  picture,
});

/** Text of a body without markup, with single spaces. */
export const textOf = (body: string): string =>
  body
    .replaceAll(/<(script|style|title)\b[^]*?<\/\1>/gi, ' ')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll('&nbsp;', ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
    .replaceAll(/\s+/g, ' ')
    .trim();

/** The time of an event, as the API shows it. */
export interface ShownWhen {
  date?: string;
  start_date?: string;
  end_date?: string;
  time?: number;
  start_time?: number;
  end_time?: number;
}

/** Events and instances that a case lists. */
export const MOST_INSTANCES = 20;
/** Seconds after the first start in which they begin. */
export const SPAN_SECONDS = 366 * 86_400;

/** Start of an event in Unix seconds; of an all-day event, midnight in UTC. */
export const startOf = ({ date, start_date, time, start_time }: ShownWhen): number =>
  time ?? start_time ?? Date.parse(date ?? start_date ?? '') / 1000;

const minute = (seconds: number) => `${new Date(seconds * 1000).toISOString().slice(0, 16)}Z`;

/** A time as an interval of ISO 8601: `2027-03-08T09:00Z/2027-03-08T10:00Z` or `2027-03-08`. */
export function intervalOf({ date, start_date, end_date, time, ...when }: ShownWhen): string {
  if (date !== undefined) return date;
  if (start_date !== undefined) return `${start_date}/${end_date}`;
  if (time !== undefined) return minute(time);
  return `${minute(when.start_time ?? 0)}/${minute(when.end_time ?? 0)}`;
}

/** Intervals of events and instances, earliest first. */
export const intervalsOf = (all: readonly ShownWhen[]): string[] =>
  all
    .toSorted((a, b) => startOf(a) - startOf(b))
    .slice(0, MOST_INSTANCES)
    .map(intervalOf);
