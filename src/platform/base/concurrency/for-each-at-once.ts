/**
 * Runs work for each item, at most `atOnce` at the same time. If one fails, no further work begins.
 * @returns when all work that has begun has ended
 * @throws the error of the first work that failed
 */
export async function forEachAtOnce<T>(
  atOnce: number,
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = [...items];
  const runNext = async (): Promise<void> => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) {
      try {
        await work(item);
      } catch (error) {
        waiting.length = 0;
        throw error;
      }
    }
  };
  const runs = await Promise.allSettled(Array.from({ length: atOnce }, runNext));
  const failed = runs.find((run) => run.status === 'rejected');
  if (failed) throw failed.reason;
}
