/** Converts an instant to Unix seconds, the API's unit of time. Fractions are cut off. */
export function toUnixSeconds(instant: Date): number {
  return Math.floor(instant.getTime() / 1000);
}

export function fromUnixSeconds(seconds: number): Date {
  return new Date(seconds * 1000);
}

/** Converts like `toUnixSeconds`. `null` and `undefined` become `null`. */
export function toUnixSecondsOrNull(instant: Date | null | undefined): number | null {
  return instant ? toUnixSeconds(instant) : null;
}
