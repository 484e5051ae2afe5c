import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';

/** A label, reduced to what the rules need. */
export interface LabelRef {
  id: string;
  /** Standard name; `null` for user-made labels. */
  name: string | null;
}

/** Labels for the location of a message. Every message has exactly one of them. */
const LOCATIONS = ['all', 'trash', 'spam'] as const;
/** Labels that only the server adds and removes. */
const FIXED: readonly (string | null)[] = ['drafts', 'sent'];

const isLocation = ({ name }: LabelRef): boolean =>
  (LOCATIONS as readonly (string | null)[]).includes(name);

/**
 * Labels of a message after a change to `wanted`. Adding trash or spam removes inbox and all.
 * Adding inbox removes trash and spam and adds all. A message that would have no location keeps its
 * current one.
 * @param all the account's label for all mail; `undefined` if it has none
 * @throws {InvalidInputError} if more than one location is added, or if drafts or sent would
 *   change
 */
export function labelsAfter(
  current: readonly LabelRef[],
  wanted: readonly LabelRef[],
  all: LabelRef | undefined,
): LabelRef[] {
  const added = wanted.filter(({ id }) => current.every((label) => label.id !== id));
  const removed = current.filter(({ id }) => wanted.every((label) => label.id !== id));
  const fixed = [...added, ...removed].find(({ name }) => FIXED.includes(name));
  if (fixed) throw new InvalidInputError(`label_ids: the label ${fixed.name} cannot be changed`);
  if (added.filter(isLocation).length > 1)
    throw new InvalidInputError('label_ids: only one of all, trash and spam can be added');
  const location = added.find(isLocation);
  const without = (...names: readonly string[]) =>
    wanted.filter(({ name }) => name === null || !names.includes(name));
  if (location?.name === 'trash') return without('inbox', 'all', 'spam');
  if (location?.name === 'spam') return without('inbox', 'all', 'trash');
  const kept =
    location || added.some(({ name }) => name === 'inbox') ? without('trash', 'spam') : [...wanted];
  if (kept.some(isLocation)) return kept;
  // Without a location the message keeps its current one, or gets the label for all mail if inbox
  // was added.
  const before =
    location || added.some(({ name }) => name === 'inbox') ? undefined : current.find(isLocation);
  const target = before ?? all;
  return target ? [...kept, target] : kept;
}

/**
 * Labels of a message after its thread was changed to `wanted`. Clients send all labels they have
 * read along with every change, so only differences to the thread's labels count. Labels of one
 * message are not copied to the others, and drafts and sent never change. If a location is removed
 * from the thread, all its messages move to the remaining one.
 * @param union labels of all messages of the thread before the change
 * @throws {InvalidInputError} if more than one location is added, or if drafts or sent is added
 */
export function threadLabelsAfter(
  current: readonly LabelRef[],
  union: readonly LabelRef[],
  wanted: readonly LabelRef[],
  all: LabelRef | undefined,
): LabelRef[] {
  const has = (labels: readonly LabelRef[], { id }: LabelRef) =>
    labels.some((label) => label.id === id);
  const removed = union.filter((label) => !has(wanted, label) && !FIXED.includes(label.name));
  const left = removed.some(isLocation);
  const added = wanted.filter((label) => !has(union, label) || (left && isLocation(label)));
  if (removed.length + added.length === 0) return [...current];
  const kept = current.filter((label) => !has(removed, label));
  return labelsAfter(current, [...kept, ...added.filter((label) => !has(kept, label))], all);
}
