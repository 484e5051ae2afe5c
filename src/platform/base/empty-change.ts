/** Whether a change has no value, so that nothing must be stored and nobody notified. */
export function isEmptyChange(change: object): boolean {
  return Object.values(change).every((value) => value === undefined);
}
