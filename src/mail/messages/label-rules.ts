import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';

/** A label as the rules see it. */
export interface LabelRef {
  id: string;
  /** Standard name; null for user-made ones. */
  name: string | null;
}

/** Every message has exactly one of these: where it is kept. */
const PLACES = ['all', 'trash', 'spam'] as const;
/** Only the server gives and takes these. */
const FIXED: readonly (string | null)[] = ['drafts', 'sent'];

const isPlace = ({ name }: LabelRef): boolean =>
  (PLACES as readonly (string | null)[]).includes(name);

/**
 * The labels a message has after it was given `wanted` (api facts 5.1): adding trash or spam removes inbox and all,
 * adding inbox removes trash and spam and adds all, and a message that would be nowhere stays where it is kept.
 * @param all the account's label for all mail, where it has one
 * @throws {InvalidInputError} for more than one place, and for changes of drafts and sent
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
  if (added.filter(isPlace).length > 1)
    throw new InvalidInputError('label_ids: only one of all, trash and spam can be added');
  const place = added.find(isPlace);
  const without = (...names: readonly string[]) =>
    wanted.filter(({ name }) => name === null || !names.includes(name));
  if (place?.name === 'trash') return without('inbox', 'all', 'spam');
  if (place?.name === 'spam') return without('inbox', 'all', 'trash');
  const kept =
    place || added.some(({ name }) => name === 'inbox') ? without('trash', 'spam') : [...wanted];
  if (kept.some(isPlace)) return kept;
  // Taken out of the trash, or of everything, it is kept with all mail.
  const before =
    place || added.some(({ name }) => name === 'inbox') ? undefined : current.find(isPlace);
  const home = before ?? all;
  return home ? [...kept, home] : kept;
}

/**
 * The labels a message of a thread has after the thread was given `wanted`. Only differences to what the thread had
 * count, for clients send the labels they have read along with every change: what was on one message of it is not spread
 * to the others, drafts and sent stay where they are, and when the thread leaves a place, all of it goes to the one that
 * is left.
 * @param union labels of all its messages before
 * @throws {InvalidInputError} for more than one place, and when drafts or sent is added
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
  const left = removed.some(isPlace);
  const added = wanted.filter((label) => !has(union, label) || (left && isPlace(label)));
  if (removed.length + added.length === 0) return [...current];
  const kept = current.filter((label) => !has(removed, label));
  return labelsAfter(current, [...kept, ...added.filter((label) => !has(kept, label))], all);
}
