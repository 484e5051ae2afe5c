/** Data exceptions, and limits of the program such as the size of an index entry. */
const REFUSED = /^(22|54)/;

/**
 * Whether the database refuses the values of a statement. It then refuses them each time, so they
 * must not hold up others.
 */
export function isRefusedValue(error: unknown): error is Error {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    REFUSED.test(error.code)
  );
}

/**
 * Finds those of the items that are refused, by halves.
 * @param isAccepted tries some of the items together
 */
export async function refusedAmong<T>(
  items: readonly T[],
  isAccepted: (some: readonly T[]) => Promise<boolean>,
): Promise<T[]> {
  if (items.length === 0 || (await isAccepted(items))) return [];
  if (items.length === 1) return [...items];
  const half = Math.ceil(items.length / 2);
  return [
    ...(await refusedAmong(items.slice(0, half), isAccepted)),
    ...(await refusedAmong(items.slice(half), isAccepted)),
  ];
}
