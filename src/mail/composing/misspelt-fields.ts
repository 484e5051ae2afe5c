import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { nearestName } from '../../platform/base/text/nearest-name.ts';

/** Fields of whole drafts that the official clients send back. They have no effect. */
const SENT_BACK: ReadonlySet<string> = new Set([
  'account_id', 'date', 'events', 'files', 'folder', 'folder_id', 'headers', 'id', 'job_status_id', 'label_ids',
  'labels', 'object', 'original_send_at', 'received_date', 'snippet', 'starred', 'unread', 'version',
]); // prettier-ignore

const MOST_CHARACTERS = 60;
/** Far more than clients send. A body may have 100 000, and comparing those takes seconds. */
const MOST_COMPARED = 500;

/**
 * Refuses a message with a misspelt field: with `send_att` it would leave at once, and with `bc`
 * without its Bcc recipients. Other unknown fields have no effect, because clients send back
 * whatever they have read. Only the first 500 unknown fields are examined.
 * @param body the request body before its schema has removed unknown fields
 * @param schema schema of the body
 * @throws {InvalidInputError} naming the field, and the known field that it resembles
 */
export function refuseMisspelt(
  body: unknown,
  { shape }: { shape: Readonly<Record<string, unknown>> },
): void {
  if (typeof body !== 'object' || body === null) return;
  const unknown = Object.keys(body).filter(
    (name) => !Object.hasOwn(shape, name) && !SENT_BACK.has(name),
  );
  const known = Object.keys(shape);
  for (const name of unknown.slice(0, MOST_COMPARED)) {
    const nearest = nearestName(name, known);
    if (nearest !== undefined)
      throw new InvalidInputError(
        `${name.slice(0, MOST_CHARACTERS)}: is not a field of a message; did you mean ${nearest}?`,
      );
  }
}
