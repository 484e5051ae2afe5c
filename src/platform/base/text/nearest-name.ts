/** Longer names are typed too wrongly, or are no names. */
const LONGEST = 60;

/** Number of letters to insert, remove, replace or swap with their neighbour. */
function distance(from: string, to: string): number {
  let older: number[] = [];
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1];
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      current[column] = Math.min(
        (previous[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (previous[column - 1] ?? 0) + (same ? 0 : 1),
        swapped && row > 1 && column > 1 ? (older[column - 2] ?? 0) + 1 : Infinity,
      );
    }
    older = previous;
    previous = current;
  }
  return previous[to.length] ?? 0;
}

const plain = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

/**
 * The known name that a misspelt name probably means. Case, `_` and `-` do not count.
 * @returns `undefined` if no name differs by a third of its letters or less
 */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  if (name.length > LONGEST) return undefined;
  const given = plain(name);
  let best: { name: string; distance: number } | undefined;
  for (const candidate of known) {
    const wanted = plain(candidate);
    const most = Math.max(1, Math.floor(Math.min(given.length, wanted.length) / 3));
    // The distance is at least this difference.
    if (Math.abs(given.length - wanted.length) > most) continue;
    const found = distance(given, wanted);
    if (found <= most && (!best || found < best.distance))
      best = { name: candidate, distance: found };
  }
  return best?.name;
}
